import type { FieldProblem } from '../core/errors.ts'
import type { Rule, ValueOf } from '../core/rules/rules.ts'
import { jsonProblem } from '../core/values/json.ts'

export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/**
 * Checks a value against a rule. It first refuses values that JSON text can express but the store cannot keep exactly,
 * such as a number that would lose digits. Paths of problems are dotted and begin with `at`.
 */
export function check<Of extends Rule>(rule: Of, value: unknown, at = ''): Checked<ValueOf<Of>> {
  const unstorable = jsonProblem(value, at)
  return unstorable ? { ok: false, problems: [unstorable] } : checkRule(rule, value, at)
}

/** Checks a value against a rule only, for values whose members `check` checks one by one. */
export function checkRule<Of extends Rule>(rule: Of, value: unknown, at = ''): Checked<ValueOf<Of>> {
  const problems = rule.problems(value, at)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: value as ValueOf<Of> }
}
