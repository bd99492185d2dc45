import * as z from 'zod'
import type { Rule } from '../core/rules/rules.ts'

/** Makes a schema of a rule of the core. Refusals use the words of the rule, and the OpenAPI document shows its JSON Schema. */
export function fromRule<Value>(rule: Rule<Value>): z.ZodType<Value> {
  return z
    .unknown()
    .superRefine((value, context) => {
      for (const { path, message } of rule.problems(value, '')) {
        context.addIssue({ code: 'custom', message, path: path === '' ? [] : path.split('.') })
      }
    })
    .meta({ ...rule.schema }) as unknown as z.ZodType<Value>
}

type OptionalFields<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends Rule<infer Value>
    ? z.ZodExactOptional<z.ZodType<Value>>
    : never
}

/** Makes the schemas of fields that may be left out. */
export function optionalFields<Rules extends Readonly<Record<string, Rule>>>(
  rules: Rules,
): OptionalFields<Rules> {
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, z.exactOptional(fromRule(rule))]),
  ) as unknown as OptionalFields<Rules>
}
