import * as z from 'zod'
import type { Rule } from '../../../shared/core/rules/rules.ts'

/** A rule of the core as a schema: its problems, in its words, and its JSON Schema for the API's description. */
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

type Fields<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends Rule<infer Value>
    ? z.ZodExactOptional<z.ZodType<Value>>
    : never
}

/** Fields that may be left out. */
export function optionalFields<Rules extends Readonly<Record<string, Rule>>>(rules: Rules): Fields<Rules> {
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, z.exactOptional(fromRule(rule))]),
  ) as unknown as Fields<Rules>
}
