import type { FieldProblem } from '../errors.ts'
import { inside } from './rules.ts'

const FLOW_OPTIONS: ReadonlySet<string> = new Set(['deadlineMs', 'retentionMs'])

/** The problems of options that a flow cannot have, because each of its steps has its own. */
export function flowOptionProblems(options: object, at = ''): FieldProblem[] {
  return Object.entries(options)
    .filter(([option, value]) => value !== undefined && !FLOW_OPTIONS.has(option))
    .map(([option]) => ({
      path: inside(at, option),
      message:
        'is for the steps of a flow: set it on the step, or on its type; a flow has deadlineMs and retentionMs',
    }))
}
