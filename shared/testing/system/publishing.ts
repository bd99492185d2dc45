import type { CanvasAnswer } from '../../api/canvases.ts'
import type { DerivedBody, PublishAnswer, PublishBody } from '../../api/publish.ts'
import { ProblemError } from '../../client/problem-error.ts'
import type { Composition } from '../../core/canvas/shape.ts'
import { defined } from '../../core/defined.ts'
import type { FieldProblem } from '../../core/errors.ts'
import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { AnyDefinition } from '../../define/any-definition.ts'
import type { Canvas } from '../../define/canvases.ts'
import { invalid } from '../../present/problems.ts'
import { publishProblem, unknownTypes } from '../../present/refusal-problems.ts'
import { presentTask } from '../../present/tasks.ts'
import { bodyProblems } from '../../requests/body-rules.ts'
import {
  callbacksSizeProblem,
  fieldProblems,
  publishRequestOf,
  sizeProblem,
} from '../../requests/publish-requests.ts'
import type { LeafRequest } from '../../runtime/canvas/canvas.ts'
import { memberIds, publishCanvas } from '../../runtime/canvas/publish-canvas.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { publish } from '../../runtime/publish/publish.ts'
import type { StatusReaders } from '../../runtime/read/describe-task.ts'
import { describeHead } from '../../runtime/read/read.ts'

/** What `publish` takes, as the client does: a definition or a name with its input and options, a canvas, or a body. */
export type Publishable = AnyDefinition | string | Canvas | PublishBody

/** Publishes a task or a canvas as the HTTP API does, with the same refusals. @throws ProblemError */
export function publishTo(
  system: System,
  readers: StatusReaders,
  what: Publishable,
  given: readonly unknown[],
): Promise<PublishAnswer | CanvasAnswer> {
  if (isCanvas(what)) return publishCanvasTo(system, what, given[0])
  return publishBody(system, readers, asSent(bodyOf(what, given)))
}

function isCanvas(what: Publishable): what is Canvas {
  return typeof what === 'object' && ('chain' in what || 'group' in what || 'chord' in what)
}

function bodyOf(what: AnyDefinition | string | PublishBody, given: readonly unknown[]): object {
  if (typeof what !== 'string' && !('kind' in what)) return what
  const [input, options] = given
  return { ...Object(options), type: typeof what === 'string' ? what : what.type, input }
}

/** A body as JSON text brings it. */
function asSent<Body extends object>(body: Body): Body {
  return JSON.parse(JSON.stringify(body)) as Body
}

/**
 * Refuses an input that the definition's schema does not accept, as the client does before it sends.
 *
 * @throws BatonError `invalid`, which names each wrong field.
 */
export async function checkInput(definition: AnyDefinition, input: unknown): Promise<void> {
  const parsed = await definition.input?.['~standard'].validate(input)
  if (!parsed?.issues) return
  const problems = parsed.issues.map(({ path = [], message }) => ({
    path: ['input', ...path.map(part => String(typeof part === 'object' ? part.key : part))].join('.'),
    message,
  }))
  const text = problems.map(({ path, message }) => `${path} ${message}`).join('; ')
  throw new BatonError('invalid', `the input does not fit ${definition.type}: ${text}`, { problems })
}

async function publishBody(system: System, readers: StatusReaders, body: object): Promise<PublishAnswer> {
  const checked = checkedBody<PublishBody>('publish', body, system.clock.now())
  const outcome = await publish(system, publishRequestOf(checked, new Headers()))
  if (!outcome.ok) throw new ProblemError(publishProblem(outcome, 'test'))
  const { task, created } = outcome
  return { id: task.id, created, task: presentTask(await describeHead(system, readers, task)) }
}

/** The body, whose fields are legal. @throws ProblemError */
function checkedBody<Body extends DerivedBody>(
  kind: Parameters<typeof bodyProblems>[0],
  body: object,
  now: number,
  at = '',
): Body {
  refuse(bodyProblems(kind, body, at))
  const checked = body as Body
  refuse(fieldProblems(checked as PublishBody, now, at))
  const tooLarge =
    sizeProblem(checked.input, at === '' ? 'input' : `${at}.input`) ?? callbacksSizeProblem(checked, at)
  if (tooLarge) throw new ProblemError(invalid([tooLarge], 'too-large'))
  return checked
}

function refuse(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw new ProblemError(invalid(problems))
}

type CanvasOptions = { readonly key?: string; readonly sendConcurrency?: number; readonly userId?: string }

async function publishCanvasTo(system: System, canvas: Canvas, options: unknown): Promise<CanvasAnswer> {
  refuse(bodyProblems('canvas', Object(options)))
  const { key, sendConcurrency, userId } = Object(options) as CanvasOptions
  const composition = compositionOf(asSent(canvas), { now: system.clock.now(), ...defined({ userId }) }, '')
  const outcome = await publishCanvas(system, { composition, ...defined({ key, sendConcurrency }) })
  if (!outcome.ok && outcome.reason === 'unknown-type') {
    throw new ProblemError(unknownTypes(outcome.unknown, outcome.existing))
  }
  if (!outcome.ok) throw new ProblemError(invalid(outcome.problems, outcome.reason))
  const taskIds = memberIds(outcome.canvas)
  return { id: outcome.canvas.id, created: outcome.created, ...defined({ taskIds }) }
}

type Walk = { readonly now: number; readonly userId?: string }
type Member = Extract<Canvas, { chain: unknown }>['chain'][number]

function compositionOf(member: Member, walk: Walk, at: string): Composition<LeafRequest> {
  const all = (members: readonly Member[], path: string) =>
    members.map((one, index) => compositionOf(one, walk, `${path}.${index}`))
  const path = (name: string) => (at === '' ? name : `${at}.${name}`)
  if ('chain' in member) return { chain: all(member.chain, path('chain')) }
  if ('group' in member) return { group: all(member.group, path('group')) }
  if (!('chord' in member)) return { leaf: leafOf(member, walk, at) }
  const { group, then, onError } = member.chord
  return {
    chord: {
      group: all(group, path('chord.group')),
      // biome-ignore lint/suspicious/noThenProperty: `then` is a field of the API, not a function
      then: compositionOf(then, walk, path('chord.then')),
      ...(onError && { onError: compositionOf(onError, walk, path('chord.onError')) }),
    },
  }
}

function leafOf(member: object, { now, userId }: Walk, at: string): LeafRequest {
  const request = publishRequestOf(checkedBody<PublishBody>('leaf', member, now, at), new Headers())
  const tooLong = sizeProblem(request as unknown as Json, at)
  if (tooLong) throw new ProblemError(invalid([tooLong], 'too-large'))
  return request.userId !== undefined || userId === undefined ? request : { ...request, userId }
}
