import { BatonError } from '../../../core/errors.ts'
import { DEFAULT_OPTIONS, type Options } from '../../../core/options/options.ts'
import type { ActionRecord, FlowDefinition, FlowState, StepRecord } from '../../../core/task/flow-state.ts'
import { always, attributesOf, mapped, optional, withDefault } from '../attributes.ts'
import { flag, flagFor, mapOf, number, type StoredBy, text, word } from '../codecs.ts'
import { body, taskError } from './run-attributes.ts'

/** This file stores a flow's progress in a head. The names are short, so that many steps fit into one write unit. */

/** One action of a step. `f`, `by` and `ran` are the fence, the worker and the beginning of the run that ended it. */
const ACTION = attributesOf<ActionRecord>()({
  startedAt: optional('at', number),
  endedAt: optional('end', number),
  attempts: withDefault('n', number, 0),
  fence: optional('f', number),
  workerId: optional('by', text),
  ranAt: optional('ran', number),
  reportDigest: optional('w', text),
  error: optional('e', taskError),
})

const STEP = attributesOf<StepRecord>()({
  state: always('s', word<StepRecord['state']>()),
  do: always('d', ACTION),
  result: optional('r', body),
  undo: optional('u', ACTION),
})

const PROGRESS = attributesOf<Omit<FlowState, 'definition'>>()({
  reachedStep: withDefault('cur', number, 0),
  presentStep: withDefault('at', number, 0),
  direction: withDefault('undo', flagFor('undo'), 'do'),
  cancelling: optional('stop', flag),
  round: optional('round', number),
  deadlineMs: optional('limit', number),
  deadlineAt: optional('until', number),
  steps: mapped('steps', mapOf(STEP)),
})

/** `def` is the name of the definition, which is an item of its own. */
export type StoredFlow = { readonly def: string } & StoredBy<typeof PROGRESS>

export function storedFlow(flow: FlowState): StoredFlow {
  return { def: flow.definition.name, ...PROGRESS.encode(flow) }
}

/** @throws BatonError `invalid` when `definition` is not the one that the flow names. */
export function flowFrom(stored: StoredFlow, definition: FlowDefinition | undefined): FlowState {
  if (definition?.name !== stored.def) {
    throw new BatonError('invalid', `the steps ${stored.def} of a flow are not stored in this table`)
  }
  return { definition, ...PROGRESS.decode(stored) }
}

/** The options that the head of a flow stores: only its retention. The others follow from its present step. */
export function ownOptions(options: Options): Options {
  return { ...DEFAULT_OPTIONS, retentionMs: options.retentionMs }
}

export function optionsOfStep(flow: FlowState, own: Options): Options {
  const action = flow.definition.steps[flow.presentStep]?.[flow.direction]
  return action ? { ...action.options, retentionMs: own.retentionMs } : own
}
