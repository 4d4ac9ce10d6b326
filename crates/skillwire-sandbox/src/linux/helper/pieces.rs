//! One filter put together from several, of which each call meets one.
//!
//! The kernel asks a filter about every number when it is loaded, and about calls with arguments each
//! time; a list of all calls costs most of the time that isolation takes.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// How many calls are compared one after the other.
const CALLS: usize = 12;

/// Loads the number of the call.
const LOAD_NUMBER: sock_filter = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);

/// A filter that answers `matching` where a rule fits, and `otherwise` everywhere else.
pub(super) fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: &SeccompAction,
    matching: &SeccompAction,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let mut rules = rules.into_iter().peekable();
    let mut pieces = Vec::new();
    while let Some((first, _)) = rules.peek() {
        let first = u32::try_from(*first).unwrap_or(u32::MAX);
        let part = rules.by_ref().take(CALLS).collect();
        let part = SeccompFilter::new(part, otherwise.clone(), matching.clone(), arch)?;
        pieces.push((first, part.try_into()?));
    }
    Ok(join(&pieces))
}

/// Joins programs, each with the lowest number that is its own, in order.
fn join(pieces: &[(u32, BpfProgram)]) -> BpfProgram {
    let mut joined = vec![LOAD_NUMBER];
    let choices = pieces.len().saturating_sub(1) * 2;
    let begins = |piece: usize| {
        1 + choices + pieces[..piece].iter().map(|(_, program)| program.len()).sum::<usize>()
    };
    for (piece, (first, _)) in pieces.iter().enumerate().skip(1).rev() {
        joined.push(instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, *first, 1));
        let ahead = begins(piece) - (joined.len() + 1);
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        joined.push(instruction(libc::BPF_JMP | libc::BPF_JA, ahead, 0));
    }
    joined.extend(pieces.iter().flat_map(|(_, program)| program.iter().cloned()));
    joined
}

#[expect(clippy::cast_possible_truncation, reason = "codes of instructions have eight bits")]
const fn instruction(code: u32, k: u32, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf, k }
}

#[cfg(test)]
mod tests {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

    use super::*;

    /// What a program answers to a call: enough of the kernel's machine for what is generated.
    fn answer(program: &BpfProgram, call: &[u32; 16]) -> u32 {
        let (mut at, mut held) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            at += 1;
            let jump = |holds: bool| usize::from(if holds { jt } else { jf });
            match u32::from(code) {
                0x20 => held = call[k as usize / 4],
                0x54 => held &= k,
                0x15 => at += jump(held == k),
                0x25 => at += jump(held > k),
                0x35 => at += jump(held >= k),
                0x05 => at += k as usize,
                0x06 => return k,
                other => panic!("{other:#x} is not known"),
            }
        }
    }

    #[test]
    fn in_pieces_a_filter_answers_as_it_does_whole() {
        let condition = |value| {
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).unwrap()
        };
        let rules: BTreeMap<i64, Vec<SeccompRule>> = (0_i64..450)
            .filter(|number| number % 3 != 1)
            .map(|number| match number % 7 {
                0 => (
                    number,
                    vec![SeccompRule::new(vec![condition(number.unsigned_abs())]).unwrap()],
                ),
                _ => (number, Vec::new()),
            })
            .collect();
        let (no, yes) = (SeccompAction::Errno(1), SeccompAction::Allow);
        let whole = SeccompFilter::new(rules.clone(), no.clone(), yes.clone(), TargetArch::x86_64);
        let whole: BpfProgram = whole.unwrap().try_into().unwrap();
        let pieces = filter(rules, &no, &yes, TargetArch::x86_64).unwrap();
        assert!(pieces.len() < 4096, "{} are more than a kernel takes", pieces.len());
        let mut answers = std::collections::BTreeSet::new();
        // With the bit of the x32 entry, and on another architecture.
        for number in (0..600).chain(0x4000_0000..0x4000_0258) {
            for arch in [0xc000_003e, 0x4000_0003] {
                for argument in [0, number, 77] {
                    let mut call = [0; 16];
                    (call[0], call[1], call[6]) = (number, arch, argument);
                    let said = answer(&pieces, &call);
                    assert_eq!(said, answer(&whole, &call), "{number:#x} {arch:#x} {argument}");
                    answers.insert(said);
                }
            }
        }
        assert_eq!(answers.len(), 3, "allowed, refused and killed all occur: {answers:?}");
    }
}
