/**
 * How much of an answer a claim takes, as escaped JSON. Lambda throws away an answer that is too large after its tasks
 * have been claimed, so a claim must know before it writes that its answer can be delivered. The head knows of a body
 * kept apart only its bytes; escaping at most doubles them.
 */

import { escapedBytes, type Json, jsonBytes } from '../json.ts'
import { bodyBytes } from '../task/body.ts'
import { actionOf } from '../task/piece.ts'
import type { Previous } from '../task/previous.ts'
import type { Task } from '../task/task.ts'

/** What a claim shows beside the stored fields: names of fields, the run, times as text. */
const FRAME_BYTES = 4_096
/** The same for each run, and for each step of a flow. */
const PART_FRAME_BYTES = 640
/** An ended run stands in `runs` and in `history`; a result in its run and by itself. */
const MOST_MENTIONS = 2
const MOST_ESCAPED = 2

/** The most bytes that a claim of the task takes, but for a list that a canvas hands on. */
export function claimBytesMax(task: Task): number {
  return claimFrameBytes(task) + MOST_ESCAPED * contentBytes(task)
}

/** The most bytes of what a claim shows beside `input`, `params` and `previous`. */
export function claimFrameBytes(task: Task): number {
  const { input: _input, previous: _previous, callbacks: _callbacks, flow, ...rest } = task
  const { definition, ...standing } = flow ?? {}
  const names = definition?.steps.map(({ name }) => name) ?? []
  const kept = { ...rest, standing, names } as unknown as Json
  const parts = Object.keys(task.live).length + Object.keys(task.ended).length + names.length
  return FRAME_BYTES + PART_FRAME_BYTES * parts + MOST_MENTIONS * escapedBytes(kept)
}

/** Of `input`, `params` and `previous` as JSON. The input takes in what was handed on, or is the parameters. */
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

/** The value of a part of a canvas is not known yet: those of one answer have a room of their own. */
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
