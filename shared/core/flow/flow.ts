/**
 * A flow is a task of several steps. Each step has a `do`, and may have an `undo` that takes it back. The steps are done in
 * their order; when one fails for good, those before it are undone in reverse order. This is a saga.
 *
 * One direction of a step is a piece of work: it has its own options, budget and deadline, and runs as a plain task does.
 * `open-piece.ts` begins a piece, `end-piece.ts` decides what follows from its end, and `resume.ts` takes up a failed flow.
 * A task that is no flow is a single piece, or one piece for each of its stages, and passes through the same two files.
 */

import { PARAMS_BYTES_MAX } from '../bounds.ts'
import { hash32 } from '../hash.ts'
import { bodyBytes } from '../task/body.ts'
import type { FlowDefinition } from '../task/flow-state.ts'
import type { Task } from '../task/task.ts'

/** Three hashes of 32 bits: a system has some hundred definitions, and two of one name would be one. */
const SALTS = ['a', 'b', 'c'] as const

/** The name of a flow's steps: the same for the same steps, whoever publishes. */
export function definitionName(content: Omit<FlowDefinition, 'name'>): string {
  const text = JSON.stringify(content)
  return SALTS.map(salt => hash32(`${salt}${text}`).toString(36)).join('')
}

/** How many bytes of a flow's parameters are left for the result of its present step; undefined: it is no flow. */
export function roomForResult({ flow, input }: Task): number | undefined {
  if (!flow) return undefined
  const results = Object.values(flow.steps).map(({ result }) => bodyBytes(result))
  return PARAMS_BYTES_MAX - results.reduce((sum, bytes) => sum + bytes, bodyBytes(input))
}
