//! One filter of system calls that finds a call's answer in a few steps.
//!
//! The kernel translates a filter and asks it about every number when it is loaded; one that compares
//! calls one after the other costs more than all other layers together.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Where the kernel puts a call's number, and the architecture whose number it is.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// What a filter says about one call.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Whatever its arguments are.
    Always(SeccompAction),
    /// Allowed where one of these rules fits, otherwise answered like a call that is not listed.
    Allowed(Vec<SeccompRule>),
}

/// A filter with these answers, and `otherwise` for every other call. Calls of another architecture
/// end the process.
pub(super) fn filter(
    answers: &BTreeMap<i64, Answer>,
    otherwise: &SeccompAction,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let mut stretches: Vec<(u32, BpfProgram)> = Vec::new();
    let mut expected = 0;
    let unlisted = vec![answer(otherwise)];
    for (call, said) in answers {
        let number = number(*call);
        if number > expected {
            push(&mut stretches, expected, unlisted.clone());
        }
        let program = match said {
            Answer::Always(action) => vec![answer(action)],
            Answer::Allowed(rules) => {
                let rules = BTreeMap::from([(*call, rules.clone())]);
                SeccompFilter::new(rules, otherwise.clone(), SeccompAction::Allow, arch)?
                    .try_into()?
            }
        };
        push(&mut stretches, number, program);
        expected = number + 1;
    }
    push(&mut stretches, expected, unlisted);
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, audit_number(arch), 1, 0),
        answer(&SeccompAction::KillProcess),
        load(NUMBER),
    ];
    program.extend(decide(&stretches));
    Ok(program)
}

/// Adds numbers from `first` on; those that are answered like the ones before them join these.
fn push(stretches: &mut Vec<(u32, BpfProgram)>, first: u32, program: BpfProgram) {
    let same = |(_, last): &(u32, BpfProgram)| last.len() == 1 && *last == program;
    if !stretches.last().is_some_and(same) {
        stretches.push((first, program));
    }
}

/// Halves the stretches until one is left.
fn decide(stretches: &[(u32, BpfProgram)]) -> BpfProgram {
    let [(_, only)] = stretches else {
        let (lower, upper) = stretches.split_at(stretches.len() / 2);
        let Some((first, _)) = upper.first() else { return BpfProgram::new() };
        let lower = decide(lower);
        // A comparison can leap over 255 instructions, a plain jump over any number.
        let mut program = match u8::try_from(lower.len()) {
            Ok(over) => vec![jump(libc::BPF_JGE, *first, over, 0)],
            Err(_) => vec![jump(libc::BPF_JGE, *first, 0, 1), leap(lower.len())],
        };
        program.extend(lower);
        program.extend(decide(upper));
        return program;
    };
    only.clone()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of calls are not negative and have fewer bits than filters see"
)]
const fn number(call: i64) -> u32 {
    call as u32
}

/// The number by which the kernel calls an architecture in front of filters.
const fn audit_number(arch: TargetArch) -> u32 {
    match arch {
        TargetArch::x86_64 => 0xc000_003e,
        TargetArch::aarch64 => 0xc000_00b7,
        TargetArch::riscv64 => 0xc000_00f3,
    }
}

const fn load(place: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, place, 0, 0)
}

const fn jump(comparison: u32, with: u32, holds: u8, fails: u8) -> sock_filter {
    instruction(libc::BPF_JMP | comparison | libc::BPF_K, with, holds, fails)
}

fn leap(over: usize) -> sock_filter {
    let over = u32::try_from(over).unwrap_or(u32::MAX);
    instruction(libc::BPF_JMP | libc::BPF_JA, over, 0, 0)
}

fn answer(action: &SeccompAction) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, u32::from(action.clone()), 0, 0)
}

#[expect(clippy::cast_possible_truncation, reason = "codes of instructions have eight bits")]
const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

    use super::*;

    /// What a program answers to a call: enough of the kernel's machine for what is generated.
    fn answer_of(program: &BpfProgram, call: &[u32; 16]) -> u32 {
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
    fn a_call_is_answered_as_by_a_filter_that_compares_all_of_them() {
        let condition = |value| {
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).unwrap()
        };
        let (no, yes) = (SeccompAction::Errno(1), SeccompAction::Allow);
        let rules: BTreeMap<i64, Vec<SeccompRule>> = (3_i64..450)
            .filter(|number| number % 3 != 1 && number % 50 < 40)
            .map(|number| match number % 7 {
                0 => (
                    number,
                    vec![SeccompRule::new(vec![condition(number.unsigned_abs())]).unwrap()],
                ),
                _ => (number, Vec::new()),
            })
            .collect();
        let mut answers: BTreeMap<i64, Answer> = rules
            .iter()
            .map(|(number, rules)| match rules.as_slice() {
                [] => (*number, Answer::Always(yes.clone())),
                rules => (*number, Answer::Allowed(rules.to_vec())),
            })
            .collect();
        let hidden = 400;
        answers.insert(hidden, Answer::Always(SeccompAction::Errno(38)));
        let whole = SeccompFilter::new(rules, no.clone(), yes, TargetArch::x86_64);
        let whole: BpfProgram = whole.unwrap().try_into().unwrap();
        let halved = filter(&answers, &no, TargetArch::x86_64).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        // With the bit of the x32 entry, and on another architecture.
        for number in (0..600).chain(0x4000_0000..0x4000_0258) {
            for arch in [0xc000_003e, 0x4000_0003] {
                for argument in [0, number, 77] {
                    let mut call = [0; 16];
                    (call[0], call[1], call[6]) = (number, arch, argument);
                    let said = answer_of(&halved, &call);
                    if i64::from(number) != hidden || arch != 0xc000_003e {
                        let expected = answer_of(&whole, &call);
                        assert_eq!(said, expected, "{number:#x} {arch:#x} {argument}");
                    }
                    seen.insert(said);
                }
            }
        }
        assert_eq!(seen.len(), 4, "allowed, refused, hidden and killed all occur: {seen:?}");
    }
}
