/**
 * The bytes of an answer that a claimed task takes, as escaped JSON. Lambda drops an answer that is too large, after its tasks have
 * been claimed. So a claim must know before its write that the answer can be delivered. Of a body that is kept apart, the head has
 * only the size. Escaping at most doubles a size.
 */

import { ANSWER_BYTES_MAX, CLAIMED_LISTS_BYTES_MAX } from '../bounds.ts'
import { bodyBytes } from '../task/body.ts'
import { actionOf } from '../task/piece.ts'
import type { Previous, Task } from '../task/task.ts'
import { escapedBytes, type Json, jsonBytes } from '../values/json.ts'

/** The bytes that a claim shows beside the stored fields: names of fields, the run, times as text. */
const FRAME_BYTES = 4_096
/** The bytes that each run, and each step of a flow, adds to `FRAME_BYTES`. */
const PART_FRAME_BYTES = 640
/** A claim shows an ended run in `runs` and in `history`, and a result in its run and in a field of its own. */
const MOST_MENTIONS = 2
const MOST_ESCAPED = 2

/** The size of an answer over HTTP. `hasLists`: a canvas hands a list on to one of the answer's tasks. */
export type AnswerSize = { readonly tasks: number; readonly bytes: number; readonly hasLists: boolean }

export const EMPTY_ANSWER: AnswerSize = { tasks: 0, bytes: 0, hasLists: false }

export function withTask({ tasks, bytes, hasLists }: AnswerSize, task: Task): AnswerSize {
  const isList = task.previous?.kind === 'node'
  return { tasks: tasks + 1, bytes: bytes + claimBytesMax(task), hasLists: hasLists || isList }
}

/**
 * Whether the claims might not fit into one answer. A single claim always fits. All claims of an answer share the bytes for the
 * lists that canvases hand on, and the answer shows each list twice, escaped.
 */
export function isTooLarge({ tasks, bytes, hasLists }: AnswerSize): boolean {
  const listBytes = hasLists ? 4 * CLAIMED_LISTS_BYTES_MAX : 0
  return tasks > 1 && bytes + listBytes > ANSWER_BYTES_MAX
}

/** The most bytes that a claim of the task takes, without a list that a canvas hands on. */
export function claimBytesMax(task: Task): number {
  return claimFrameBytes(task) + MOST_ESCAPED * contentBytes(task)
}

/** The most bytes that a claim shows beside `input`, `params` and `previous`. */
export function claimFrameBytes(task: Task): number {
  const { input: _input, previous: _previous, callbacks: _callbacks, flow, ...rest } = task
  const { definition, ...standing } = flow ?? {}
  const names = definition?.steps.map(({ name }) => name) ?? []
  const kept = { ...rest, standing, names } as unknown as Json
  const parts = Object.keys(task.live).length + Object.keys(task.ended).length + names.length
  return FRAME_BYTES + PART_FRAME_BYTES * parts + MOST_MENTIONS * escapedBytes(kept)
}

/** Bytes of `input`, `params` and `previous` as JSON. The input contains the value that was handed on, or equals the parameters. */
function contentBytes(task: Task): number {
  const { input, previous, flow } = task
  const handedOn = previous ? handedOnBytes(previous) : 0
  if (!flow) return bodyBytes(input) + 2 * handedOn
  const results = Object.values(flow.steps).map(({ result }) => bodyBytes(result))
  const names = flow.definition.steps.reduce((bytes, { name }) => bytes + jsonBytes(name) + 2, 0)
  const params = results.reduce((sum, bytes) => sum + bytes, bodyBytes(input) + names)
  const own = actionOf(task)?.input
  return params + (own === undefined ? params : jsonBytes(own)) + handedOn
}

/**
 * The bytes of the value that was handed on. The value of a part of a canvas is not known yet; `CLAIMED_LISTS_BYTES_MAX` bounds it.
 */
function handedOnBytes(previous: Previous): number {
  switch (previous.kind) {
    case 'body':
      return bodyBytes(previous.body)
    case 'result':
      return previous.bytes
    case 'node':
      return 0
  }
}
