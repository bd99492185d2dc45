import { BODY_GRACE_MS, INLINE_BODY_BYTES_MAX, SHORT_ERROR_CHARACTERS_MAX } from '../bounds.ts'
import { hash32 } from '../hash.ts'
import { type Json, jsonBytes, sortedJson } from '../json.ts'
import type { Body, EndedRun, Task, TaskError } from './task.ts'

/** A body that is an item of its own. */
type SeparateBody = Extract<Body, { ref: string }>

/** An item written before the head that points at it: an input, a result, or the full record of an ended run. */
export type BodyWrite =
  | { readonly ref: string; readonly value: Json; readonly expiresAt: number }
  | { readonly ref: string; readonly run: EndedRun; readonly expiresAt: number }

/**
 * Sort keys of a task's items beside its head; all carry the birth. Inputs carry the revision that set them and a hash:
 * bodies are written before the head, so of two changes decided on one revision the loser must not overwrite the
 * input of the winner.
 */
export const bodyRef = {
  input: (born: string, revision: number, value: Json) => `in#${born}#${revision}#${digest(value)}`,
  previous: (born: string, value: Json) => `prev#${born}#${digest(value)}`,
  callbacks: (born: string, revision: number, value: Json) => `call#${born}#${revision}#${digest(value)}`,
  result: (born: string, fence: number, value: Json) =>
    `out#${born}#${fenceOrder(fence)}#${contentDigest(value)}`,
  run: (born: string, fence: number) => `${runRefPrefix(born)}${fenceOrder(fence)}`,
}

/** Two writers that race for one revision or fence write to two names, so that the loser cannot spoil the winner's. */
function digest(value: Json): string {
  return hash32(JSON.stringify(value)).toString(16)
}

/** 32 bits as up to 7 characters. Equal values have one digest, in whichever order their members stand. */
export function contentDigest(value: Json): string {
  return hash32(sortedJson(value)).toString(36)
}

/** All records of ended runs of one birth sort, oldest first, under this prefix. */
export function runRefPrefix(born: string): string {
  return `run#${born}#`
}

function fenceOrder(fence: number): string {
  return String(fence).padStart(10, '0')
}

/** A value as a body: in the head when small, else as an item of its own that is to be written first. */
export function bodyOf(value: Json, ref: string, expiresAt: number): { body: Body; writes: BodyWrite[] } {
  const bytes = jsonBytes(value)
  if (bytes <= INLINE_BODY_BYTES_MAX) return { body: { inline: value }, writes: [] }
  return { body: { ref, bytes, expiresAt }, writes: [{ ref, value, expiresAt }] }
}

/** Bytes of its value as JSON; none when there is no body. */
export function bodyBytes(body: Body | undefined): number {
  if (!body) return 0
  return 'ref' in body ? body.bytes : jsonBytes(body.inline)
}

/** When a body of a task due at `dueAt` may expire: late enough that renewing it is the exception. */
export function bodyExpiry(dueAt: number, now: number, retentionMs: number): number {
  return Math.max(dueAt, now) + retentionMs + BODY_GRACE_MS
}

/** Bodies that would expire before `until`: they must be renewed before the head relies on them that long. */
export function bodiesExpiringBefore(task: Task, until: number): SeparateBody[] {
  return separateBodies(task).filter(({ expiresAt }) => expiresAt < until)
}

/** All bodies that the task's head points at. */
export function separateBodies(task: Task): SeparateBody[] {
  const found: SeparateBody[] = []
  withBodies(task, body => {
    if ('ref' in body) found.push(body)
    return body
  })
  return found
}

/** The task with each of its bodies replaced. */
export function withBodies(task: Task, replaced: (body: Body) => Body): Task {
  const { input, previous, callbacks, canvas, flow } = task
  return {
    ...task,
    ended: mapped(task.ended, run => (run.result ? { ...run, result: replaced(run.result) } : run)),
    ...(input && { input: replaced(input) }),
    ...(previous?.kind === 'body' && { previous: { ...previous, body: replaced(previous.body) } }),
    ...(callbacks && { callbacks: { ...callbacks, body: replaced(callbacks.body) } }),
    ...(canvas && { canvas: { ...canvas, tree: replaced(canvas.tree) } }),
    ...(flow && {
      flow: {
        ...flow,
        steps: mapped(flow.steps, step => (step.result ? { ...step, result: replaced(step.result) } : step)),
      },
    }),
  }
}

function mapped<T>(record: Readonly<Record<string, T>>, change: (member: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, member]) => [name, change(member)]))
}

/** An ended run as heads keep it: the error in short, and no log. */
export function runInHead({ log: _log, ...run }: EndedRun): EndedRun {
  return run.error ? { ...run, error: shortError(run.error) } : run
}

/** An error without its stack and its causes, its message cut to what a head has room for. */
export function shortError(error: TaskError): TaskError {
  return {
    name: cut(error.name, SHORT_ERROR_CHARACTERS_MAX),
    message: cut(error.message, SHORT_ERROR_CHARACTERS_MAX),
  }
}

/** Whether there may be more of the error than the head has kept. */
export function isCut({ name, message }: TaskError): boolean {
  return [name, message].some(text => text.length >= SHORT_ERROR_CHARACTERS_MAX)
}

/** The text, at most so long. Never half a surrogate pair: that is no UTF-8 and would not be stored. */
export function cut(text: string, limit: number): string {
  return (text.length <= limit ? text : `${text.slice(0, limit - 1)}…`).toWellFormed()
}
