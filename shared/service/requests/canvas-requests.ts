import { canvasFields, leafBody } from '../../api/canvases.ts'
import { CANVAS_DEPTH_MAX } from '../../core/bounds.ts'
import type { Composition } from '../../core/canvas/tree.ts'
import { isObject, joinPath } from '../../core/rules/rules.ts'
import { CANVAS_FORMS } from '../../core/states.ts'
import { type FieldProblem, type Json, jsonProblem } from '../../core/values/values.ts'
import type { LeafRequest } from '../../runtime/canvas/canvas.ts'
import type { CanvasRequest } from '../../runtime/canvas/publish-canvas.ts'
import { checkRule } from '../operation.ts'
import { callbacksSizeProblem, fieldProblems, publishRequestOf, sizeProblem } from './publish-requests.ts'

type ParsedCanvas =
  | { readonly ok: true; readonly request: CanvasRequest }
  | { readonly ok: false; readonly kind: 'invalid' | 'too-large'; readonly problems: readonly FieldProblem[] }

/** An answer lists at most this many problems, so that it stays readable. */
const PROBLEMS_MAX = 100

/** The problems that a walk through a canvas has found, and the values that each task's request needs. */
type Walk = {
  readonly problems: FieldProblem[]
  readonly tooLarge: FieldProblem[]
  readonly now: number
  readonly userId?: string
}

/** Makes the request of a canvas, or returns its problems, each with its path, such as `chain.1.retry.maxDelayMs`. */
export function canvasRequestOf(body: unknown, traceparent: string | undefined, now: number): ParsedCanvas {
  const unstorable = jsonProblem(body)
  if (unstorable) return { ok: false, kind: 'invalid', problems: [unstorable] }
  const { rawComposition, otherFields } = splitBody(body)
  const fields = checkRule(canvasFields, otherFields)
  if (!fields.ok) return refused('invalid', fields.problems)
  const { userId, ...settings } = fields.value
  const walk: Walk = { problems: [], tooLarge: [], now, ...(userId !== undefined && { userId }) }
  if (wordsOf(rawComposition).length === 0) return refused('invalid', [NO_COMPOSITION])
  const composition = partOf(walk, rawComposition, '', 1)
  if (walk.problems.length > 0 || !composition) return refused('invalid', walk.problems)
  if (walk.tooLarge.length > 0) return refused('too-large', walk.tooLarge)
  return {
    ok: true,
    request: { composition, ...settings, ...(traceparent !== undefined && { traceparent }) },
  }
}

function refused(kind: 'invalid' | 'too-large', problems: readonly FieldProblem[]): ParsedCanvas {
  return { ok: false, kind, problems: problems.slice(0, PROBLEMS_MAX) }
}

type JsonObject = Readonly<Record<string, unknown>>
type Part = Composition<LeafRequest>

const NO_COMPOSITION: FieldProblem = { path: '', message: `must have one of ${CANVAS_FORMS.join(', ')}` }
const MEMBER_FORM = 'a task with its type, or {chain: […]}, {group: […]} or {chord: {group, then, onError?}}'

/** Splits a body into the composition (`chain`, `group`, `chord`) and the canvas's other fields. */
function splitBody(body: unknown): { rawComposition: JsonObject; otherFields: JsonObject } {
  if (!isObject(body)) return { rawComposition: {}, otherFields: {} }
  const entries = Object.entries(body)
  const isWord = ([name]: [string, unknown]) => (CANVAS_FORMS as readonly string[]).includes(name)
  return {
    rawComposition: Object.fromEntries(entries.filter(isWord)),
    otherFields: Object.fromEntries(entries.filter(entry => !isWord(entry))),
  }
}

function partOf(walk: Walk, value: unknown, at: string, depth: number): Part | undefined {
  if (!isObject(value)) return addProblem(walk, at, `must be ${MEMBER_FORM}`)
  if (depth > CANVAS_DEPTH_MAX) return addProblem(walk, at, `nests deeper than ${CANVAS_DEPTH_MAX} levels`)
  const [word, ...others] = wordsOf(value)
  if (word === undefined) return leafOf(walk, value, at)
  for (const name of [
    ...others,
    ...Object.keys(value).filter(one => !(CANVAS_FORMS as readonly string[]).includes(one)),
  ]) {
    addProblem(walk, joinPath(at, [name]), `does not go with ${word}; a member of a canvas is ${MEMBER_FORM}`)
  }
  const inside = joinPath(at, [word])
  if (word === 'chord') return chordOf(walk, value.chord, inside, depth)
  const members = membersOf(walk, value[word], inside, depth)
  return word === 'chain' ? { chain: members } : { group: members }
}

function wordsOf(value: JsonObject) {
  return CANVAS_FORMS.filter(word => Object.hasOwn(value, word))
}

function chordOf(walk: Walk, value: unknown, at: string, depth: number): Part | undefined {
  if (!isObject(value)) return addProblem(walk, at, 'must be {group: […], then, onError?}')
  for (const name of Object.keys(value)) {
    if (['group', 'then', 'onError'].includes(name)) continue
    addProblem(walk, joinPath(at, [name]), 'is not a field of a chord; the fields are group, then, onError')
  }
  const group = membersOf(walk, value.group, joinPath(at, ['group']), depth)
  const callback = partOf(walk, value.then, joinPath(at, ['then']), depth + 1)
  const hasOnError = value.onError !== undefined
  const onError = hasOnError ? partOf(walk, value.onError, joinPath(at, ['onError']), depth + 1) : undefined
  if (!callback || (hasOnError && !onError)) return undefined
  // biome-ignore lint/suspicious/noThenProperty: `then` is a field of the API, not a function
  return { chord: { group, then: callback, ...(onError && { onError }) } }
}

function membersOf(walk: Walk, value: unknown, at: string, depth: number): Part[] {
  if (!Array.isArray(value) || value.length === 0) {
    addProblem(walk, at, 'must be a list with at least one member')
    return []
  }
  return value.flatMap(
    (member, index) => partOf(walk, member, joinPath(at, [String(index)]), depth + 1) ?? [],
  )
}

function leafOf(walk: Walk, value: JsonObject, at: string): Part | undefined {
  const checked = checkRule(leafBody, value, at)
  const problems = checked.ok ? fieldProblems(checked.value, walk.now, at) : checked.problems
  walk.problems.push(...problems)
  if (!checked.ok || problems.length > 0) return undefined
  const request = publishRequestOf(checked.value)
  const tooLarge =
    sizeProblem(checked.value.input, joinPath(at, ['input'])) ??
    callbacksSizeProblem(checked.value, at) ??
    // A page of the canvas stores the whole request of a task, so the bound also covers the request.
    sizeProblem(request as unknown as Json, at)
  if (tooLarge) walk.tooLarge.push(tooLarge)
  const keepsUserId = request.userId !== undefined || walk.userId === undefined
  return { leaf: keepsUserId ? request : { ...request, userId: walk.userId } }
}

function addProblem({ problems }: Walk, path: string, message: string): undefined {
  problems.push({ path, message })
}
