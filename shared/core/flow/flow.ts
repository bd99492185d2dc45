import { MAX_PARAMS_BYTES } from '../bounds.ts'
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
  return MAX_PARAMS_BYTES - results.reduce((sum, bytes) => sum + bytes, bodyBytes(input))
}
