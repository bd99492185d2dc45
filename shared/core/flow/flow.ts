/**
 * A flow is a task of several steps. Each step has a `do`, and may have an `undo` that reverses it. The steps are done in their
 * order. When a step fails for good, that step and those before it are undone in reverse order. This is a saga.
 *
 * One direction of a step is a piece of work: it has its own options, budget and deadline, and runs as a plain task does. A task
 * that is not a flow is a single piece, or one piece for each of its stages. All pieces pass through the same two files:
 *
 * - `open-piece.ts` begins a piece
 * - `end-piece.ts` decides what follows from its end
 *
 * `resume.ts` resumes a failed flow. `describe-steps.ts` shows the steps to callers.
 */

import { PARAMS_BYTES_MAX } from '../bounds.ts'
import { bodyBytes } from '../task/body.ts'
import type { FlowDefinition } from '../task/flow-state.ts'
import type { Task } from '../task/task.ts'
import { hash32 } from '../values/hash.ts'

/** A name holds one hash of 32 bits for each salt. A system has some hundred definitions, which 96 bits tell apart. */
const SALTS = ['a', 'b', 'c'] as const

/** The name of a flow's definition. It follows from the content, so equal definitions have the same name. */
export function definitionName(content: Omit<FlowDefinition, 'name'>): string {
  const text = JSON.stringify(content)
  return SALTS.map(salt => hash32(`${salt}${text}`).toString(36)).join('')
}

/** How many bytes of a flow's parameters are left for the result of its present step; undefined for a task that is not a flow. */
export function roomForResult({ flow, input }: Task): number | undefined {
  if (!flow) return undefined
  const results = Object.values(flow.steps).map(({ result }) => bodyBytes(result))
  return PARAMS_BYTES_MAX - results.reduce((sum, bytes) => sum + bytes, bodyBytes(input))
}
