//! Connections in every socket family that a machine has.

use std::{
    io::ErrorKind,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::PermissionsExt as _,
            net::{SocketAddr, UnixListener},
        },
    },
};

use crate::{
    support::{
        AttackScript, User, assert_all_fail_inside, assert_all_succeed_outside, public_folder,
        test_cases, unique_token, users,
    },
    test_skip::{TestNeed, skip},
};

const EVERY_FAMILY: &str = r#"
def tcp4():
    socket.create_connection(("127.0.0.1", given["tcp"]), 5)
def tcp6():
    socket.create_connection(("::1", given["tcp6"]), 5)
def udp4():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", given["udp"]))
def unix_path():
    socket.socket(socket.AF_UNIX).connect(given["path"])
def unix_abstract():
    socket.socket(socket.AF_UNIX).connect("\0" + given["name"])
def listen():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
def netlink():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
def raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
def packet():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
for what in (tcp4, tcp6, udp4, unix_path, unix_abstract, listen, netlink, raw, packet):
    attempt(what.__name__, what)
"#;

#[test]
fn nothing_is_reached_in_any_family() {
    let cases = test_cases();
    for user in users() {
        let folder = public_folder();
        let path = folder.path().join("socket");
        let name = unique_token();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        if tcp6.is_none() {
            skip(TestNeed::Ipv6, "nothing can listen at `::1`: only that it is refused is shown");
        }
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let hidden = UnixListener::bind_addr(&address).unwrap();
        let port6 = tcp6.as_ref().map_or(1, |tcp| tcp.local_addr().unwrap().port());
        let attack = AttackScript::python(EVERY_FAMILY)
            .argument("tcp", tcp.local_addr().unwrap().port())
            .argument("tcp6", port6)
            .argument("udp", udp.local_addr().unwrap().port())
            .argument("path", path.to_str().unwrap())
            .argument("name", name.as_str());

        let mut possible = vec!["tcp4", "udp4", "unix_path", "unix_abstract", "listen", "netlink"];
        possible.extend(tcp6.is_some().then_some("tcp6"));
        if user == User::Root {
            possible.extend(["raw", "packet"]);
        }
        assert_all_succeed_outside(&attack, user, &possible);
        tcp.accept().unwrap();
        unix.accept().unwrap();
        hidden.accept().unwrap();
        udp.recv(&mut [0; 8]).unwrap();
        if let Some(tcp6) = &tcp6 {
            tcp6.accept().unwrap();
        }

        for case in cases.iter().filter(|case| case.user == user) {
            let answer = attack.run(*case);
            let all = ["tcp4", "tcp6", "udp4", "unix_path", "unix_abstract", "listen", "netlink"];
            assert_all_fail_inside(&answer, &all, *case);
            assert_all_fail_inside(&answer, &["raw", "packet"], *case);
            tcp.set_nonblocking(true).unwrap();
            udp.set_nonblocking(true).unwrap();
            unix.set_nonblocking(true).unwrap();
            hidden.set_nonblocking(true).unwrap();
            assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
            assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
            assert_eq!(unix.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
            assert_eq!(hidden.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    }
}

/// Tries every family and type of socket but those that connect only processes of this machine.
const SOCKETS: &str = r#"
for family in range(48):
    for kind in range(1, 11):
        if family != socket.AF_UNIX:
            try:
                socket.socket(family, kind, 0)
                print("made", family, kind, flush=True)
            except OSError:
                pass
print("tried")
"#;

#[test]
fn no_socket_of_any_other_family_is_made() {
    for user in users() {
        let outside = AttackScript::python(SOCKETS).run_outside(user);
        for (family, kind) in
            [(libc::AF_INET, libc::SOCK_STREAM), (libc::AF_NETLINK, libc::SOCK_RAW)]
        {
            assert!(outside.contains(&format!("made {family} {kind}\n")), "{user:?}: {outside}");
        }
    }
    for case in test_cases() {
        let answer = AttackScript::python(SOCKETS).run(case);
        assert_eq!(answer["stdout"], "tried\n", "{case:?}: {answer}");
    }
}
