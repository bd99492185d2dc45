import { context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { flushSpans } from '../../../shared/runtime/kernel/spans.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { aMemorySystem, type MemorySystem, registered } from '../../support/worlds/memory-system.ts'
import { runTask } from '../../support/worlds/run-task.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const CALLER_SPAN_ID = 'b7ad6b7169203331'
const TRACEPARENT = `00-${TRACE_ID}-${CALLER_SPAN_ID}-01`

const exporter = new InMemorySpanExporter()
let system: MemorySystem

beforeEach(async () => {
  system = aMemorySystem()
  await registered(system)
})

/** Publishes a task and returns it as stored. */
async function published(traceparent?: string) {
  const outcome = await publish(system, { type: 'resize', ...(traceparent && { traceparent }) })
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.task
}

/** Publishes a task, runs it, and returns what its handler got. */
async function runWith(run: (context: TaskContext) => unknown, traceparent?: string) {
  let given: TaskContext | undefined
  const definition = defineTask('resize', {
    input: z.unknown(),
    run: async (_input, ctx) => {
      given = ctx
      return run(ctx)
    },
  })
  await runTask(system, await published(traceparent), { workerId: 'w1' }, { definition })
  if (!given) throw new Error('the handler was not called')
  return given
}

describe('with an SDK in the process', () => {
  beforeEach(() => {
    exporter.reset()
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    )
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })

  afterEach(() => {
    trace.disable()
    context.disable()
  })

  it('a run is a span below the publish of its task, in the trace of the caller', async () => {
    const ctx = await runWith(() => 'done', TRACEPARENT)

    const [publishing, run] = [spanNamed('publish resize'), spanNamed('run resize')]
    expect(publishing.parentSpanContext).toMatchObject({ spanId: CALLER_SPAN_ID, isRemote: true })
    expect(run.parentSpanContext).toMatchObject({ spanId: publishing.spanContext().spanId, isRemote: true })
    expect(run.spanContext().traceId).toBe(TRACE_ID)
    expect(run.attributes).toEqual({
      'baton.task.id': ctx.taskId,
      'baton.task.type': 'resize',
      'baton.run.id': ctx.runId,
      'baton.attempt': 1,
      'baton.worker.id': 'w1',
      'baton.outcome': 'succeed',
    })
    expect(run.status.code).toBe(SpanStatusCode.UNSET)
  })

  it('a failed run carries its error', async () => {
    await runWith(() => {
      throw new TypeError('no such picture')
    })

    const run = spanNamed('run resize')
    expect(run.attributes['baton.outcome']).toBe('fail')
    expect(run.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no such picture' })
    expect(run.events[0]?.attributes).toMatchObject({
      'exception.type': 'TypeError',
      'exception.message': 'no such picture',
      'exception.stacktrace': expect.stringContaining('spans.test.ts'),
    })
  })

  it('a handler continues the trace of its run: in its traceparent, its active context, and its publications', async () => {
    const ctx = await runWith(async given => {
      trace.getTracer('test').startSpan('inner').end()
      await given.publish({ type: 'resize', key: 'child' })
    }, TRACEPARENT)

    const runSpanId = spanNamed('run resize').spanContext().spanId
    const child = await readTask(system, 'resize:child')
    const publishedFrom = spansNamed('publish resize').at(-1)
    expect(ctx.traceparent).toBe(`00-${TRACE_ID}-${runSpanId}-01`)
    expect(spanNamed('inner').parentSpanContext?.spanId).toBe(runSpanId)
    expect(publishedFrom?.parentSpanContext?.spanId).toBe(runSpanId)
    expect(child?.traceparent).toBe(`00-${TRACE_ID}-${publishedFrom?.spanContext().spanId}-01`)
  })

  it('a run is linked to the invocation that serves it', async () => {
    const invocation = trace.getTracer('test').startSpan('invocation')

    await context.with(trace.setSpan(ROOT_CONTEXT, invocation), () => runWith(() => 'done', TRACEPARENT))

    const [link] = spanNamed('run resize').links
    expect(link?.context.spanId).toBe(invocation.spanContext().spanId)
  })

  it('a publish without a traceparent belongs to the active span of its caller', async () => {
    const caller = trace.getTracer('test').startSpan('caller')

    const task = await context.with(trace.setSpan(ROOT_CONTEXT, caller), () => published())

    const span = spanNamed('publish resize')
    expect(span.parentSpanContext?.spanId).toBe(caller.spanContext().spanId)
    expect(span.attributes).toMatchObject({ 'baton.task.id': task.id, 'baton.created': true })
    expect(task.traceparent).toContain(caller.spanContext().traceId)
  })

  it('a refused publish says why', async () => {
    await publish(system, { type: 'resize', options: { leaseMs: 1, heartbeatMs: 5_000 } })

    expect(spanNamed('publish resize').attributes['baton.refused']).toBe('invalid')
  })

  it('spans are flushed at the end of an invocation', async () => {
    let flushes = 0
    trace.disable()
    const processor = new SimpleSpanProcessor(exporter)
    processor.forceFlush = async () => void flushes++
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))

    await flushSpans(system.clock)

    expect(flushes).toBe(1)
  })

  it('flushing waits at most two seconds for an exporter that hangs', async () => {
    trace.disable()
    const processor = new SimpleSpanProcessor(exporter)
    processor.forceFlush = () => new Promise(() => undefined)
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))

    const flushed = flushSpans(system.clock)
    await system.clock.advance(2_000)

    await expect(flushed).resolves.toBeUndefined()
  })
})

describe('without an SDK', () => {
  it('the traceparent of the publish reaches the handler and its children as it is', async () => {
    const ctx = await runWith(given => given.publish({ type: 'resize', key: 'child' }), TRACEPARENT)

    expect(ctx.traceparent).toBe(TRACEPARENT)
    expect((await readTask(system, 'resize:child'))?.traceparent).toBe(TRACEPARENT)
  })

  it('a publish begins a trace of its own', async () => {
    expect((await published()).traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  })

  it('flushing does nothing', async () => {
    await expect(flushSpans(system.clock)).resolves.toBeUndefined()
  })
})

function spansNamed(name: string) {
  return exporter.getFinishedSpans().filter(span => span.name === name)
}

function spanNamed(name: string) {
  const [span] = spansNamed(name)
  if (!span) throw new Error(`there is no span '${name}'`)
  return span
}
