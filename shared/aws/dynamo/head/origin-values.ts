import { defined } from '../../../core/defined.ts'
import type { CanvasState, Member } from '../../../core/task/canvas-state.ts'
import type { OperationRecord } from '../../../core/task/head-fields.ts'
import type { HandOn, Previous } from '../../../core/task/previous.ts'
import type { Callbacks, Unpublished } from '../../../core/task/task.ts'
import type { HeadMembers } from './head-members.ts'
import { type BodyValue, bodyFrom, bodyValue } from './run-values.ts'
import { type ScheduleValue, scheduleFrom, scheduleValue } from './schedule-values.ts'

/**
 * Where a task comes from and what follows it, in a head: the value handed on to it, its stage, its canvas, its callbacks, and the
 * operators that changed it.
 */
export type OriginValues = {
  readonly prev?: PreviousValue
  readonly fixed?: true
  readonly stage?: string
  readonly moves?: number
  readonly calls?: CallbacksValue
  readonly owes?: true
  readonly unpub?: Unpublished
  readonly parent?: string
  readonly member?: MemberValue
  readonly canvas?: CanvasValue
  readonly sched?: ScheduleValue
  readonly ops?: string
}

export function originOf(task: HeadMembers) {
  const { previous, callbacks, member, canvas, schedule, operations } = task
  return {
    prev: previous && previousValue(previous),
    fixed: task.immutable,
    stage: task.stage,
    moves: task.stageChanges,
    calls: callbacks && callbacksValue(callbacks),
    owes: task.owes,
    unpub: task.unpublished,
    parent: task.parentId,
    member: member && memberValue(member),
    canvas: canvas && canvasValue(canvas),
    sched: schedule && scheduleValue(schedule),
    ops: operations && operationsValue(operations),
  }
}

export function originFrom(head: OriginValues) {
  return {
    previous: head.prev && previousFrom(head.prev),
    immutable: head.fixed,
    stage: head.stage,
    stageChanges: head.moves,
    callbacks: head.calls && callbacksFrom(head.calls),
    owes: head.owes,
    unpublished: head.unpub,
    parentId: head.parent,
    member: head.member && memberFrom(head.member),
    canvas: head.canvas && canvasFrom(head.canvas),
    schedule: head.sched && scheduleFrom(head.sched),
    operations: head.ops === undefined ? undefined : operationsFrom(head.ops),
  }
}

type PreviousValue = {
  readonly how: HandOn
  readonly body?: BodyValue
  readonly of?: string
  readonly ref?: string
  readonly bytes?: number
  readonly born?: string
  readonly node?: number
}

function previousValue(previous: Previous): PreviousValue {
  const how = previous.handOn
  switch (previous.kind) {
    case 'body':
      return { how, body: bodyValue(previous.body) }
    case 'result':
      return { how, of: previous.taskId, ref: previous.ref, bytes: previous.bytes }
    case 'node':
      return { how, of: previous.canvasId, born: previous.born, node: previous.node }
  }
}

function previousFrom(value: PreviousValue): Previous {
  const { how: handOn, body, of = '', ref, bytes = 0, born = '', node = 0 } = value
  if (body !== undefined) return { kind: 'body', handOn, body: bodyFrom(body) }
  if (ref !== undefined) return { kind: 'result', handOn, taskId: of, ref, bytes }
  return { kind: 'node', handOn, canvasId: of, born, node }
}

type CallbacksValue = { readonly body: BodyValue; readonly ok?: number; readonly bad?: number }

function callbacksValue({ body, onSuccess, onError }: Callbacks): CallbacksValue {
  return defined({ body: bodyValue(body), ok: onSuccess || undefined, bad: onError || undefined })
}

function callbacksFrom({ body, ok = 0, bad = 0 }: CallbacksValue): Callbacks {
  return { body: bodyFrom(body), onSuccess: ok, onError: bad }
}

/** The key of a member begins with the birth of its canvas. The birth is stored all the same: a restart may not rely on keys. */
type MemberValue = {
  readonly of: string
  readonly born: string
  readonly leaf: number
  readonly first?: Member['first']
}

function memberValue({ canvasId, born, leaf, first }: Member): MemberValue {
  return defined({ of: canvasId, born, leaf, first })
}

function memberFrom({ of, born, leaf, first }: MemberValue): Member {
  return defined({ canvasId: of, born, leaf, first })
}

type CanvasValue = {
  readonly tree: BodyValue
  readonly leaves: number
  readonly send?: number
  readonly started?: true
}

function canvasValue({ tree, leaves, sendConcurrency, started }: CanvasState): CanvasValue {
  return defined({
    tree: bodyValue(tree),
    leaves,
    send: sendConcurrency,
    started: started ? (true as const) : undefined,
  })
}

function canvasFrom({ tree, leaves, send, started }: CanvasValue): CanvasState {
  return defined({ tree: bodyFrom(tree), leaves, sendConcurrency: send, started: started ?? false })
}

/**
 * Records of operators' changes, as JSON text `[[by, …], [[at, n, what], …]]`. Each principal is listed once, and each record
 * names its principal by number. A record takes some 25 bytes, and a principal the bytes of its name.
 */
function operationsValue(operations: readonly OperationRecord[]): string {
  const people = [...new Set(operations.map(({ by }) => by))]
  return JSON.stringify([people, operations.map(({ at, by, what }) => [at, people.indexOf(by), what])])
}

function operationsFrom(value: string): OperationRecord[] {
  const [people, records] = JSON.parse(value) as [string[], Array<[number, number, string]>]
  return records.map(([at, nth, what]) => ({ at, by: people[nth] ?? '', what }))
}
