#!/usr/bin/env python3
"""Quote a refund under the Acme refund policy.

Reads the facts about one charge as JSON and prints the decision, the amount and
the approver as JSON. It changes nothing anywhere.
"""

import argparse
import calendar
import hashlib
import json
import sys
from datetime import date
from pathlib import Path

POLICY = Path(__file__).resolve().parent.parent / "assets" / "policy.json"
PLANS = ("monthly", "annual", "credits")
ACME_ERRORS = ("duplicate", "charged-after-cancellation")
REASONS = ("changed-mind", "service-fault") + ACME_ERRORS
APPROVERS = ("agent", "billing-lead", "finance")
SHARES = ("credits", "service-fault", "annual-unused")
REQUIRED = object()

FIELDS_HELP = """\
facts, always needed:
  charge_id       text, from the billing system
  currency        three capital letters, such as "EUR"
  paid            gross payment in minor units (EUR 49.00 is 4900)
  plan            monthly, annual or credits
  charged_on      date, YYYY-MM-DD
  requested_on    date, YYYY-MM-DD
  reason          changed-mind, service-fault, duplicate or
                  charged-after-cancellation
  disputed        true or false

facts, needed in some cases:
  period_end      annual plans: first day after the paid period
  units_total     credits: units bought
  units_unused    credits: units left
  affected_days   service-fault: days with a published incident
  period_days     service-fault: days in the paid period

facts, 0 unless given:
  tax, already_refunded (minor units), refunds_last_12_months

exit status: 0 a decision was printed, 2 the facts are missing or wrong
"""


class FactError(Exception):
    """The facts do not allow a quote."""


class Facts:
    """Typed access to the facts, with errors that name the field."""

    def __init__(self, raw):
        if not isinstance(raw, dict):
            raise FactError("the facts must be one JSON object")
        known = {
            "charge_id", "currency", "paid", "tax", "already_refunded", "plan", "charged_on",
            "period_end", "requested_on", "reason", "disputed", "refunds_last_12_months",
            "units_total", "units_unused", "affected_days", "period_days",
        }
        unknown = sorted(set(raw) - known)
        if unknown:
            raise FactError(f"unknown field {unknown[0]!r}; known are: {', '.join(sorted(known))}")
        self.raw = raw

    def _get(self, key, default):
        if key in self.raw:
            return self.raw[key]
        if default is REQUIRED:
            raise FactError(f"{key!r} is missing and this case needs it (see --help)")
        return default

    def text(self, key):
        value = self._get(key, REQUIRED)
        if not isinstance(value, str) or not value.strip():
            raise FactError(f"{key!r} must be non-empty text, not {value!r}")
        return value

    def choice(self, key, allowed):
        value = self.text(key)
        if value not in allowed:
            raise FactError(f"{key!r} must be one of {', '.join(allowed)}, not {value!r}")
        return value

    def count(self, key, default=REQUIRED, least=0):
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise FactError(f"{key!r} must be a whole number of at least {least}, not {value!r}")
        return value

    def flag(self, key):
        value = self._get(key, REQUIRED)
        if not isinstance(value, bool):
            raise FactError(f"{key!r} must be true or false, not {value!r}")
        return value

    def day(self, key):
        value = self.text(key)
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise FactError(f"{key!r} must be a date such as 2026-04-20, not {value!r}") from None


def share(amount, part, whole):
    """Return amount * part / whole, rounded up."""
    return -(-amount * part // whole)


def months_before(day, months):
    """Return the day that many months earlier, clipped to the month's length."""
    index = day.year * 12 + day.month - 1 - months
    year, month = divmod(index, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def unused_months(requested, period_end):
    """Count whole months that start after the request, backwards from the end."""
    months = 0
    while months < 12 and months_before(period_end, months + 1) > requested:
        months += 1
    return months


def money(minor, currency, digits):
    if digits is None:
        return f"{currency} {minor} (minor units)"
    if digits == 0:
        return f"{currency} {minor:,}"
    whole, rest = divmod(minor, 10**digits)
    return f"{currency} {whole:,}.{rest:0{digits}d}"


def decide(facts, policy):
    """Return (decision, rule, amount, explanation)."""
    paid = facts.count("paid", least=1)
    refunded = facts.count("already_refunded", 0)
    if refunded > paid:
        raise FactError(f"'already_refunded' ({refunded}) is more than 'paid' ({paid})")
    left = paid - refunded
    plan = facts.choice("plan", PLANS)
    reason = facts.choice("reason", REASONS)
    charged, requested = facts.day("charged_on"), facts.day("requested_on")
    age = (requested - charged).days
    if age < 0:
        raise FactError("'requested_on' is before 'charged_on'")

    if facts.flag("disputed"):
        return "stop", "open-dispute", 0, "A chargeback is open; a refund would pay twice."
    if left == 0:
        return "stop", "nothing-left", 0, "The whole payment has been refunded before."

    if reason in ACME_ERRORS:
        limit = policy["original_payment_days"]
        if age > limit:
            return ("escalate", "acme-error", left,
                    f"Owed in full, but the charge is {age} days old; after {limit} days finance "
                    "pays by bank transfer.")
        return "refund", "acme-error", left, "The charge was Acme's error; all of it is returned."

    if plan == "credits":
        limit = policy["credits_refund_days"]
        total = facts.count("units_total", least=1)
        unused = facts.count("units_unused")
        if unused > total:
            raise FactError(f"'units_unused' ({unused}) is more than 'units_total' ({total})")
        if age > limit:
            return ("decline", "credits", 0,
                    f"Credits are refundable for {limit} days; this is day {age}.")
        amount = min(left, share(paid, unused, total))
        if amount == 0:
            return "decline", "credits", 0, "All credits have been used."
        return "refund", "credits", amount, f"{unused} of {total} credits are unused."

    limit = policy["full_refund_days"]
    if age <= limit:
        return "refund", "cooling-off", left, f"Day {age} of {limit}: everything is returned."

    if reason == "service-fault":
        days, affected = facts.count("period_days", least=1), facts.count("affected_days", least=1)
        if affected > days:
            raise FactError(f"'affected_days' ({affected}) is more than 'period_days' ({days})")
        amount = min(left, share(paid, affected, days))
        return "refund", "service-fault", amount, f"{affected} of {days} days were affected."

    if plan == "annual":
        end = facts.day("period_end")
        if end <= charged:
            raise FactError("'period_end' is not after 'charged_on'")
        months = unused_months(requested, end)
        if months:
            amount = min(left, share(paid, months, 12))
            return "refund", "annual-unused", amount, f"{months} of 12 months are wholly unused."
        return "decline", "annual-unused", 0, "Less than one whole month is left."

    return "decline", "no-refund", 0, f"Day {age} is past the {limit} days of full refunds."


def quote(facts, policy):
    charge, currency = facts.text("charge_id"), facts.text("currency")
    if len(currency) != 3 or not (currency.isascii() and currency.isalpha() and currency.isupper()):
        raise FactError(f"'currency' must be three capital letters such as EUR, not {currency!r}")
    decision, rule, amount, why = decide(facts, policy)
    paid, refunded = facts.count("paid", least=1), facts.count("already_refunded", 0)
    tax = facts.count("tax", 0)
    if tax >= paid:
        raise FactError(f"'tax' ({tax}) must be less than 'paid' ({paid})")

    approver = None
    if decision in ("refund", "escalate"):
        approver = "finance"
        limits = policy["approval_limits"].get(currency)
        if limits is None:
            why += f" There is no approval limit for {currency}, so finance decides."
        elif decision == "refund":
            total = refunded + amount
            approver = next((who for who in APPROVERS[:2] if total <= limits[who]), "finance")
        repeats = facts.count("refunds_last_12_months", 0)
        doubts = []
        if repeats >= policy["repeat_refund_limit"] and rule not in ("acme-error", "service-fault"):
            doubts.append(f" The customer had {repeats} refunds in twelve months.")
        if refunded and rule in SHARES:
            doubts.append(" An earlier refund of this charge may already cover this share.")
        if doubts and decision == "refund":
            decision = "escalate"
            approver = max(approver, "billing-lead", key=APPROVERS.index)
            why += "".join(doubts)

    result = {
        "decision": decision,
        "rule": rule,
        "explanation": why,
        "charge_id": charge,
        "amount_minor": amount,
        "amount": money(amount, currency, policy["minor_digits"].get(currency)),
        "tax_minor": (2 * amount * tax + paid) // (2 * paid),
        "approver": approver,
        "policy_version": policy["version"],
    }
    if amount:
        seed = f"{charge}/{refunded}/{amount}".encode()
        result["idempotency_key"] = "refund-" + hashlib.sha256(seed).hexdigest()[:20]
    return result


def load(path, text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise FactError(f"{path} is not JSON: {error}") from None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=FIELDS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("facts", help="JSON file with the facts, or - for standard input")
    parser.add_argument("--policy", type=Path, default=POLICY,
                        help="policy limits (default: assets/policy.json)")
    args = parser.parse_args()
    try:
        policy = load(args.policy, args.policy.read_text(encoding="utf-8"))
        if args.facts == "-":
            text = sys.stdin.read()
        else:
            text = Path(args.facts).read_text(encoding="utf-8")
        result = quote(Facts(load(args.facts, text)), policy)
    except KeyError as error:
        print(f"refund_quote: {args.policy} lacks the limit {error}", file=sys.stderr)
        return 2
    except (FactError, OSError) as error:
        print(f"refund_quote: {error}", file=sys.stderr)
        return 2
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
