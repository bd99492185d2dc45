import { describe, expectTypeOf, test } from 'vitest'
import type * as z from 'zod'
import type * as someAnswers from '../../functions/http/schemas/answers.ts'
import type * as canvases from '../../functions/http/schemas/canvases.ts'
import type * as requests from '../../functions/http/schemas/requests.ts'
import type * as runAnswers from '../../functions/http/schemas/run-answers.ts'
import type * as schedules from '../../functions/http/schemas/schedules.ts'
import type * as api from '../../shared/client/api-types.ts'
import type * as canvased from '../../shared/client/canvas-types.ts'
import type * as patches from '../../shared/client/patch-types.ts'
import type * as purges from '../../shared/client/purge-types.ts'
import type * as runs from '../../shared/client/run-types.ts'
import type * as scheduled from '../../shared/client/schedule-types.ts'
import type { ApiWorker } from '../../shared/client/worker-types.ts'

/** The same type with nothing readonly: zod infers none, the API's types are all so. */
type Plain<T> = T extends (infer Item)[] | readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { -readonly [Name in keyof T]: Plain<T[Name]> }
    : T

type Request<Name extends keyof typeof requests> = (typeof requests)[Name] extends z.ZodType
  ? Plain<z.infer<(typeof requests)[Name]>>
  : never
type Answers = typeof someAnswers & typeof runAnswers
type Answer<Name extends keyof Answers> = Answers[Name] extends z.ZodType
  ? Plain<z.infer<Answers[Name]>>
  : never

describe('the client’s types are those of the API’s schemas', () => {
  test('for requests', () => {
    expectTypeOf<Plain<api.PublishBody>>().toEqualTypeOf<Request<'publishBody'>>()
    expectTypeOf<Plain<patches.PatchBody>>().toEqualTypeOf<Request<'patchBody'>>()
    expectTypeOf<Plain<api.RetryTaskBody>>().toEqualTypeOf<Request<'retryBody'>>()
    expectTypeOf<Plain<api.TypeBody>>().toEqualTypeOf<Request<'typeBody'>>()
    expectTypeOf<Plain<runs.ClaimsBody>>().toEqualTypeOf<Request<'claimsBody'>>()
    expectTypeOf<Plain<runs.HeartbeatBody>>().toEqualTypeOf<Request<'heartbeatBody'>>()
    expectTypeOf<Plain<runs.SucceedBody>>().toEqualTypeOf<Request<'succeedBody'>>()
    expectTypeOf<Plain<runs.FailBody>>().toEqualTypeOf<Request<'failBody'>>()
    expectTypeOf<Plain<runs.ReleaseBody>>().toEqualTypeOf<Request<'releaseBody'>>()
    expectTypeOf<Plain<scheduled.ScheduleBody>>().toEqualTypeOf<
      Plain<z.infer<typeof schedules.scheduleBody>>
    >()
    expectTypeOf<Plain<purges.PurgeBody>>().toEqualTypeOf<Request<'purgeBody'>>()
    expectTypeOf<Plain<api.ListFilter>>().toEqualTypeOf<Request<'listQuery'>>()
  })

  test('for answers', () => {
    expectTypeOf<Plain<api.ApiTask>>().toEqualTypeOf<Answer<'task'>>()
    expectTypeOf<Plain<api.PublishAnswer>>().toEqualTypeOf<Answer<'publishAnswer'>>()
    expectTypeOf<Plain<{ results: api.PublishResult[] }>>().toEqualTypeOf<Answer<'publishManyAnswer'>>()
    expectTypeOf<Plain<api.Page<api.ApiTask>>>().toEqualTypeOf<Answer<'taskPage'>>()
    expectTypeOf<Plain<api.ApiType>>().toEqualTypeOf<Answer<'typeAnswer'>>()
    expectTypeOf<Plain<api.Page<ApiWorker>>>().toEqualTypeOf<Answer<'workerPage'>>()
    expectTypeOf<Plain<api.Counts>>().toEqualTypeOf<Answer<'countsAnswer'>>()
    expectTypeOf<Plain<purges.PurgeAnswer>>().toEqualTypeOf<Answer<'purgeAnswer'>>()
    expectTypeOf<Plain<runs.ClaimsAnswer>>().toEqualTypeOf<Answer<'claimsAnswer'>>()
    expectTypeOf<Plain<runs.HeartbeatAnswer>>().toEqualTypeOf<Answer<'heartbeatAnswer'>>()
    expectTypeOf<Plain<canvased.CanvasAnswer>>().toEqualTypeOf<
      Plain<z.infer<typeof canvases.canvasPublished>>
    >()
    expectTypeOf<Plain<canvased.ApiCanvas>>().toEqualTypeOf<Plain<z.infer<typeof canvases.canvasAnswer>>>()
    expectTypeOf<Plain<scheduled.ApiSchedule>>().toEqualTypeOf<
      Plain<z.infer<typeof schedules.scheduleAnswer>>
    >()
    expectTypeOf<Plain<api.Problem>>().toEqualTypeOf<Answer<'problemAnswer'>>()
  })
})
