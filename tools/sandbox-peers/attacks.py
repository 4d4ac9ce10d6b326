"""The attacks, as Python programs. Each prints `done` if it got what it wanted, in the end.

`HOME_DIR`, `PORT`, `VICTIM` and `SOCKET` stand for what the harness made outside of the sandbox.
"""

PRELUDE = """
import ctypes, mmap, os, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def check(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), 'refused')
    return answer
"""

# What, kind, program. `out` attacks reach something outside; `bound` attacks use more than 512 MiB, 32
# processes or 32 MiB of disk and hold it for a second. Every process that an attack starts ends by itself
# after a few seconds, because nothing else ends it outside of a sandbox.
ATTACKS = [
    ("read a key in the home", "out", "open('HOME_DIR/.ssh/key').read()"),
    ("list the home", "out", "assert '.ssh' in os.listdir('HOME_DIR')"),
    ("read the users of the machine", "out", "assert 'root' in open('/etc/passwd').read()"),
    ("write to the home", "out", "open('HOME_DIR/.ssh/new', 'w').write('x')"),
    ("read a secret variable", "out", "os.environ['PEER_SECRET']"),
    ("connect to a server of this machine", "out", "socket.create_connection(('127.0.0.1', PORT), 3)"),
    ("connect to a socket in the home", "out", "s = socket.socket(socket.AF_UNIX); s.connect('SOCKET')"),
    ("signal another process", "out", "os.kill(VICTIM, 0)"),
    ("read the memory of another process", "out", "open('/proc/VICTIM/mem', 'rb').close()"),
    ("see the command line of another process", "out", "assert open('/proc/VICTIM/cmdline').read()"),
    ("watch which programs others start", "out",
     "i = check(libc.inotify_init1(0)); check(libc.inotify_add_watch(i, b'/usr/bin', 1))"),
    ("make a user namespace", "out", "check(libc.unshare(0x10000000))"),
    ("open `io_uring`", "out", "check(libc.syscall(425, 1, ctypes.create_string_buffer(256)))"),
    ("execute a memory file", "out",
     "f = check(libc.memfd_create(b'x', 0)); os.write(f, open('/bin/true', 'rb').read()); "
     "p = os.fork(); p or os.execv('/proc/self/fd/%d' % f, ['x']); assert os.waitpid(p, 0)[1] == 0"),
    ("take 700 MiB of memory", "bound", "b = bytearray(b'x') * (700 << 20); time.sleep(1)"),
    ("take 700 MiB of memory in seven processes", "bound",
     "def hold():\n    block = bytearray(b'x') * (100 << 20)\n    time.sleep(8)\n    os._exit(0)\n"
     "for _ in range(7):\n    if os.fork() == 0: hold()\ntime.sleep(3)"),
    ("take 700 MiB of shared memory and unmap it", "bound",
     "ms = [mmap.mmap(-1, 100 << 20) for _ in range(7)]\n"
     "for m in ms:\n    for a in range(0, len(m), 4096): m[a] = 1\n    m.madvise(mmap.MADV_DONTNEED)\n"
     "time.sleep(1)"),
    ("make 200 processes", "bound",
     "for _ in range(200):\n    if os.fork() == 0:\n        time.sleep(4)\n        os._exit(0)\ntime.sleep(1)"),
    ("make 400 threads", "bound",
     "threading.stack_size(32768)\nfor _ in range(400): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n"
     "time.sleep(1)"),
    ("write 100 MiB to the disk", "bound",
     "f = open('big', 'wb')\nfor _ in range(100): f.write(b'x' * (1 << 20))\nf.flush(); time.sleep(1)"),
    ("keep 100 MiB in deleted files", "bound",
     "kept = []\nfor n in range(10):\n    f = open('gone', 'wb'); os.unlink('gone'); f.write(b'x' * (10 << 20)); f.flush(); kept.append(f)\n"
     "time.sleep(1)"),
    ("make 3,000 files", "bound", "for n in range(3000): open('f%d' % n, 'w').close()\ntime.sleep(1)"),
    ("leave a process behind", "left",
     "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 64)\n"
     "        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(8)', 'TOKEN'])\n    os._exit(0)\n"
     "os.wait(); time.sleep(0.5)"),
]


def program(body: str, outside: dict[str, str]) -> str:
    for name, value in outside.items():
        body = body.replace(name, value)
    return f"{PRELUDE}\n{body}\nprint('done', flush=True)\nos._exit(0)\n"
