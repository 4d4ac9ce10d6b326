//! Compiles decisions about system calls into a filter that finds one in a few steps.
//!
//! The kernel translates a filter when it is loaded, and runs it once for every number. A filter
//! that compares calls one after the other, as seccompiler makes it, costs more than all other
//! layers together. This one searches by halves.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Offsets in what a filter sees of a call: its number, and the architecture that the number
/// belongs to.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;

/// What a filter decides about one system call.
#[derive(Debug, Clone)]
pub(super) enum CallDecision {
    /// The same action whatever the arguments are.
    Always(SeccompAction),
    /// Allowed if one of these rules matches the arguments, otherwise treated like a call that is
    /// not listed.
    AllowIf(Vec<SeccompRule>),
    /// Allowed if one of these rules matches the arguments, otherwise this action.
    AllowIfOr(Vec<SeccompRule>, SeccompAction),
}

/// A range of call numbers with the same program: its first number. It ends where the next one
/// begins.
type CallRange = (u32, BpfProgram);

/// Compiles a filter with these decisions, and `unlisted` for every other call.
///
/// Calls of another architecture end the process. A 64-bit process can call the kernel through its
/// 32-bit entry, where the same numbers mean other calls.
pub(super) fn compile(
    decisions: &BTreeMap<i64, CallDecision>,
    unlisted: &SeccompAction,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let mut ranges: Vec<CallRange> = Vec::new();
    let mut next_number = 0;
    let unlisted_program = vec![act(unlisted)];
    for (call, decision) in decisions {
        let number = number(*call);
        if number > next_number {
            push_range(&mut ranges, next_number, unlisted_program.clone());
        }
        let program = match decision {
            CallDecision::Always(action) => vec![act(action)],
            CallDecision::AllowIf(rules) => conditional(*call, rules, unlisted, arch)?,
            CallDecision::AllowIfOr(rules, otherwise) => {
                conditional(*call, rules, otherwise, arch)?
            }
        };
        push_range(&mut ranges, number, program);
        next_number = number + 1;
    }
    // To the end of all numbers. x32 calls have a bit that lifts them above all others, so they are
    // treated as unlisted, too.
    push_range(&mut ranges, next_number, unlisted_program);
    let mut program = vec![
        load(ARCHITECTURE_OFFSET),
        jump(libc::BPF_JEQ, audit_number(arch), 1, 0),
        act(&SeccompAction::KillProcess),
        load(NUMBER_OFFSET),
    ];
    program.extend(search(&ranges));
    Ok(program)
}

/// A program that allows one call if a rule matches, and otherwise acts in another way.
fn conditional(
    call: i64,
    rules: &[SeccompRule],
    otherwise: &SeccompAction,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(call, rules.to_vec())]);
    SeccompFilter::new(rules, otherwise.clone(), SeccompAction::Allow, arch)?.try_into()
}

/// Adds a range from `first` on, or extends the last one if it has the same single action.
fn push_range(ranges: &mut Vec<CallRange>, first: u32, program: BpfProgram) {
    let is_same = |(_, last): &CallRange| last.len() == 1 && *last == program;
    if !ranges.last().is_some_and(is_same) {
        ranges.push((first, program));
    }
}

/// A program that halves the ranges until one is left.
fn search(ranges: &[CallRange]) -> BpfProgram {
    let [(_, only)] = ranges else {
        let (lower, upper) = ranges.split_at(ranges.len() / 2);
        let Some((first, _)) = upper.first() else { return BpfProgram::new() };
        let lower = search(lower);
        // A comparison can jump over 255 instructions, a plain jump over any number.
        let mut program = match u8::try_from(lower.len()) {
            Ok(over) => vec![jump(libc::BPF_JGE, *first, over, 0)],
            Err(_) => vec![jump(libc::BPF_JGE, *first, 0, 1), jump_over(lower.len())],
        };
        program.extend(lower);
        program.extend(search(upper));
        return program;
    };
    only.clone()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "call numbers are not negative and have fewer bits than filters see"
)]
const fn number(call: i64) -> u32 {
    call as u32
}

/// The number of an architecture in what a filter sees (`AUDIT_ARCH_*`).
const fn audit_number(arch: TargetArch) -> u32 {
    match arch {
        TargetArch::x86_64 => 0xc000_003e,
        TargetArch::aarch64 => 0xc000_00b7,
        TargetArch::riscv64 => 0xc000_00f3,
    }
}

const fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

const fn jump(comparison: u32, with: u32, if_true: u8, if_false: u8) -> sock_filter {
    instruction(libc::BPF_JMP | comparison | libc::BPF_K, with, if_true, if_false)
}

fn jump_over(instructions: usize) -> sock_filter {
    let over = u32::try_from(instructions).unwrap_or(u32::MAX);
    instruction(libc::BPF_JMP | libc::BPF_JA, over, 0, 0)
}

fn act(action: &SeccompAction) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, u32::from(action.clone()), 0, 0)
}

#[expect(clippy::cast_possible_truncation, reason = "instruction codes have eight bits")]
const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

    use super::*;

    /// Runs a program for a call, with as much of the kernel's virtual machine as compiled filters
    /// use.
    fn action_of(program: &BpfProgram, call: &[u32; 16]) -> u32 {
        let mut at = 0;
        let mut held = 0;
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
    fn a_call_gets_the_same_action_as_from_a_filter_that_compares_all_of_them() {
        let condition = |value| {
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).unwrap()
        };
        let no = SeccompAction::Errno(1);
        let yes = SeccompAction::Allow;
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
        let mut decisions: BTreeMap<i64, CallDecision> = rules
            .iter()
            .map(|(number, rules)| match rules.as_slice() {
                [] => (*number, CallDecision::Always(yes.clone())),
                rules => (*number, CallDecision::AllowIf(rules.to_vec())),
            })
            .collect();
        let hidden = 400;
        decisions.insert(hidden, CallDecision::Always(SeccompAction::Errno(38)));
        let whole = SeccompFilter::new(rules, no.clone(), yes, TargetArch::x86_64);
        let whole: BpfProgram = whole.unwrap().try_into().unwrap();
        let compiled = compile(&decisions, &no, TargetArch::x86_64).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        // With the bit of the x32 entry, and on another architecture.
        for number in (0..600).chain(0x4000_0000..0x4000_0258) {
            for arch in [0xc000_003e, 0x4000_0003] {
                for argument in [0, number, 77] {
                    let mut call = [0; 16];
                    (call[0], call[1], call[6]) = (number, arch, argument);
                    let action = action_of(&compiled, &call);
                    if i64::from(number) != hidden || arch != 0xc000_003e {
                        let expected = action_of(&whole, &call);
                        assert_eq!(action, expected, "{number:#x} {arch:#x} {argument}");
                    }
                    seen.insert(action);
                }
            }
        }
        assert_eq!(seen.len(), 4, "allowed, refused, hidden and killed all occur: {seen:?}");
    }
}
