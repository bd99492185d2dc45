import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { patchBody, retryBody } from '../../../shared/api/changes.ts'
import { activityQuery } from '../../../shared/api/diagnosis/statistics.ts'
import { type PublishBody, publishBody } from '../../../shared/api/publish.ts'
import { claimsBody } from '../../../shared/api/runs.ts'
import { type ScheduleBody, scheduleBody } from '../../../shared/api/schedules.ts'
import { listQuery, task as taskAnswer } from '../../../shared/api/tasks.ts'
import { typeBody } from '../../../shared/api/types.ts'
import {
  delayProblem,
  priorityProblem,
  type Rule,
  stageProblem,
  unknownTypeProblem,
} from '../../../shared/core/rules/rules.ts'
import { configurationProblems, typeNameProblems } from '../../../shared/core/rules/type-configuration.ts'
import { queueNameOf, type TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import { webhookInputProblems } from '../../../shared/core/types/webhook.ts'
import type { FieldProblem, Json } from '../../../shared/core/values/values.ts'
import { check } from '../../../shared/service/operation.ts'
import { parseFinish, parseHeartbeat } from '../../../shared/service/requests/apply-run-update.ts'
import { canvasRequestOf } from '../../../shared/service/requests/canvas-requests.ts'
import {
  fieldProblems,
  isTaskId,
  scheduleRequestOf,
  sizeProblem,
} from '../../../shared/service/requests/publish-requests.ts'
import type { BoundRequest, RequestKind } from '../bounds/bound-request.ts'

type Problems = readonly FieldProblem[]

/** What the API finds in a request, and whether the JSON Schema that it publishes accepts the request. */
export type CheckOutcome = { readonly problems: Problems; readonly fitsSchema?: boolean }

type Part = Readonly<Record<string, unknown>>

/** The kinds of requests that have a published rule, and what no rule says of them. */
const BODIES: Readonly<Partial<Record<RequestKind, readonly [Rule, Further?]>>> = {
  publish: [publishBody, furtherProblems],
  patch: [patchBody, furtherProblems],
  type: [typeBody, body => configurationProblems(body as TypeConfiguration)],
  schedule: [scheduleBody, ofSchedule],
  claim: [claimsBody],
  activity: [activityQuery],
  list: [listQuery],
  retry: [retryBody],
  'task-answer': [taskAnswer],
}

type Further = (body: unknown, now: number) => Problems

/** Checks a request as the API does. It checks the fields first, and then what no rule says. */
export function checkRequest({ kind, body }: BoundRequest, now: number): CheckOutcome {
  const [rule, further = () => []] = BODIES[kind] ?? []
  if (!rule) return { problems: ofPart(kind, body, now) }
  const checked = check(rule, body)
  const problems = checked.ok ? further(body, now) : checked.problems
  return { problems, fitsSchema: schemaOf(kind, rule)(body) }
}

const schemas = new Map<RequestKind, ValidateFunction>()
const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, uri: true } })

/** The published schema of a kind of request. Its compilation takes some milliseconds. */
function schemaOf(kind: RequestKind, { schema }: Rule): ValidateFunction {
  const compiled = schemas.get(kind) ?? ajv.compile(schema)
  schemas.set(kind, compiled)
  return compiled
}

function furtherProblems(body: unknown, now: number): Problems {
  const { input } = body as PublishBody
  const size = sizeProblem(input as Json | undefined, 'input')
  return [...fieldProblems(body as PublishBody, now), ...(size ? [size] : [])]
}

function ofSchedule(body: unknown, now: number): Problems {
  const read = scheduleRequestOf('a', body as ScheduleBody, now)
  return read.ok ? [] : read.problems
}

function ofPart(kind: RequestKind, body: unknown, now: number): Problems {
  switch (kind) {
    case 'canvas': {
      const read = canvasRequestOf(body, undefined, now)
      return read.ok ? [] : read.problems
    }
    case 'beat':
    case 'finish': {
      const read = kind === 'beat' ? parseHeartbeat(body, '') : parseFinish(body, '')
      return read.ok ? [] : read.problems
    }
    case 'type-name':
      return typeNameProblems((body as Part).type, 'type')
    case 'webhook-input': {
      const { configuration, input } = body as Part
      return webhookInputProblems(configuration as TypeConfiguration, input as Json | undefined)
    }
    default:
      return ofValue(kind, body as Part)
  }
}

function ofValue(kind: RequestKind, { id, type, types, existing, value }: Part): Problems {
  switch (kind) {
    case 'task-id':
      return isTaskId(id as string) ? [] : [{ path: 'id', message: 'is not an id' }]
    case 'unknown-type':
      return [{ path: 'type', message: unknownTypeProblem(type as string, existing as readonly string[]) }]
    case 'queue-name':
      return queueProblems(types as readonly string[])
    case 'priority':
      return ofMessage(priorityProblem(value))
    case 'stage':
      return ofMessage(stageProblem(value))
    case 'delay':
      return ofMessage(delayProblem(value))
    default:
      throw new Error(`nothing checks a ${kind}`)
  }
}

function ofMessage(message: string | undefined): Problems {
  return message === undefined ? [] : [{ path: 'value', message }]
}

/** SQS allows 80 of these characters in the name of a queue. */
const QUEUE_NAME = /^[A-Za-z0-9_-]{1,80}$/
const SYSTEMS = ['a', 'baton', 'a-system-with-a-long-name']

/** The problems of the queues of these types, of which a type may be named as the queue of another one. */
function queueProblems(types: readonly string[]): Problems {
  return SYSTEMS.flatMap(system => {
    const tails = types.map(type => queueNameOf(system, type).slice(`${system}-q-`.length))
    const all = [...new Set([...types, ...tails])]
    const names = all.map(type => queueNameOf(system, type))
    const illegal = names.find(name => !QUEUE_NAME.test(name))
    const shared = names.find((name, index) => names.indexOf(name) < index)
    return [
      ...(illegal === undefined ? [] : [{ path: 'types', message: `SQS refuses ${illegal}` }]),
      ...(shared === undefined ? [] : [{ path: 'types', message: `two types share ${shared}` }]),
    ]
  })
}
