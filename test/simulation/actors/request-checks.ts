import type * as z from 'zod'
import { check } from '../../../functions/http/check.ts'
import { patchBody } from '../../../shared/api/changes.ts'
import { activityQuery } from '../../../shared/api/diagnosis/load.ts'
import { type PublishBody, publishBody } from '../../../shared/api/publish.ts'
import { claimsBody } from '../../../shared/api/runs.ts'
import { type ScheduleBody, scheduleBody } from '../../../shared/api/schedules.ts'
import { listQuery } from '../../../shared/api/tasks.ts'
import { typeBody } from '../../../shared/api/types.ts'
import type { FieldProblem } from '../../../shared/core/errors.ts'
import type { Json } from '../../../shared/core/json.ts'
import { unknownTypeProblem } from '../../../shared/core/rules/nearest.ts'
import { priorityProblem } from '../../../shared/core/rules/signal-bounds.ts'
import { configurationProblems, typeRule } from '../../../shared/core/rules/type-configuration.ts'
import type { TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import { bodyProblems } from '../../../shared/requests/body-rules.ts'
import { fieldProblems, sizeProblem } from '../../../shared/requests/publish-requests.ts'
import { scheduleRequestOf } from '../../../shared/requests/schedule-requests.ts'
import { isTaskId } from '../../../shared/requests/task-ids.ts'
import type { RequestKind } from '../bound-requests.ts'

type Problems = readonly FieldProblem[]

/**
 * The problems that the API and the table client find in a request, each on its own. Both check the fields first, and then what no schema
 * says.
 */
export function problemsOf(kind: RequestKind, body: unknown, now: number): Problems[] {
  switch (kind) {
    case 'publish':
    case 'patch': {
      const schema = kind === 'publish' ? publishBody : patchBody
      const further = () => furtherProblems(body as PublishBody, now)
      return [first(bySchema(schema, body), further), first(bodyProblems(kind, body), further)]
    }
    case 'type': {
      const further = () => configurationProblems(body as TypeConfiguration)
      return [first(bySchema(typeBody, body), further), first(typeRule.problems(body, ''), further)]
    }
    case 'schedule': {
      const further = () => ofSchedule(body as ScheduleBody, now)
      return [first(bySchema(scheduleBody, body), further), first(bodyProblems('schedule', body), further)]
    }
    case 'claim':
      return [bySchema(claimsBody, body)]
    case 'activity':
      return [bySchema(activityQuery, body)]
    case 'list':
      return [bySchema(listQuery, body), bodyProblems('list', body)]
    default:
      return [ofPart(kind, body as Part)]
  }
}

function first(problems: Problems, further: () => Problems): Problems {
  return problems.length > 0 ? problems : further()
}

function bySchema(schema: z.ZodType, body: unknown): Problems {
  const checked = check(schema, body)
  return checked.ok ? [] : checked.problems
}

function furtherProblems(body: PublishBody, now: number): Problems {
  const size = sizeProblem(body.input as Json | undefined, 'input')
  return [...fieldProblems(body, now), ...(size ? [size] : [])]
}

function ofSchedule(body: ScheduleBody, now: number): Problems {
  const read = scheduleRequestOf('a', body, now)
  return read.ok ? [] : read.problems
}

type Part = {
  readonly id: string
  readonly type: string
  readonly existing: readonly string[]
  readonly value: unknown
}

function ofPart(kind: 'task-id' | 'unknown-type' | 'priority', body: Part): Problems {
  switch (kind) {
    case 'task-id':
      return isTaskId(body.id) ? [] : [{ path: 'id', message: 'is not an id' }]
    case 'unknown-type':
      return [{ path: 'type', message: unknownTypeProblem(body.type, body.existing) }]
    case 'priority': {
      const message = priorityProblem(body.value)
      return message === undefined ? [] : [{ path: 'value', message }]
    }
  }
}
