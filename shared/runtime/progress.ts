import { type Json, jsonBytes, jsonProblem } from '../core/json.ts'
import { MAX_PROGRESS_BYTES } from '../core/limits.ts'

/** @throws TypeError for progress that JSON cannot hold, naming the place, and for more than 1 KB of it. */
export function refuseUnstorable(value: Json): void {
  const problem = jsonProblem(value)
  if (problem) throw new TypeError(`progress ${problem.path} ${problem.message}`)
  const bytes = jsonBytes(value)
  if (bytes > MAX_PROGRESS_BYTES) {
    throw new TypeError(`progress has ${bytes} bytes; it stands in the head, at most ${MAX_PROGRESS_BYTES}`)
  }
}
