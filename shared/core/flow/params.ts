import { bodyBytes } from '../body.ts'
import { MAX_PARAMS_BYTES } from '../limits.ts'
import type { Task } from '../task.ts'

/** How many bytes of a flow's parameters are left for the result of its present step; undefined: it is no flow. */
export function roomForResult({ flow, input }: Task): number | undefined {
  if (!flow) return undefined
  const results = Object.values(flow.steps).map(({ result }) => bodyBytes(result))
  return MAX_PARAMS_BYTES - results.reduce((sum, bytes) => sum + bytes, bodyBytes(input))
}
