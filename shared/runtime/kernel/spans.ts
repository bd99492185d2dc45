/**
 * Spans through OpenTelemetry's API. They are recorded when a layer, an agent or the user's own code has registered an SDK in the process.
 * Without an SDK nothing is recorded, and the incoming traceparent reaches the task unchanged.
 */
import type { Context, Span, SpanContext } from '@opentelemetry/api'
import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type LiveRun, runId, type Task } from '../../core/task/task.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import type { Clock } from '../../ports/machine.ts'

const TRACER = 'baton'
/** An exporter that hangs must not make an invocation time out, so flushing waits at most this long. */
const FLUSH_LIMIT_MS = 2_000

type RunEnd = { readonly outcome: string; readonly error?: TaskError }

/**
 * Does `work` within a span `run <type>`, a child of the span that published the task. `work` gets the run's own
 * traceparent, or undefined when there is no trace. An error that `work` throws is recorded in the span, too.
 */
export function inRunSpan<End extends RunEnd>(
  { task, run }: { readonly task: Task; readonly run: LiveRun },
  work: (traceparent: string | undefined) => Promise<End>,
): Promise<End> {
  const invocation = trace.getSpanContext(context.active())
  const options = {
    kind: SpanKind.CONSUMER,
    attributes: {
      'baton.task.id': task.id,
      'baton.task.type': task.type,
      'baton.run.id': runId(task.born, run.fence),
      'baton.attempt': task.failures + 1,
      'baton.worker.id': run.workerId,
    },
    // The run belongs to the task's trace. The trace of the invocation that serves it is only linked.
    ...(invocation && { links: [{ context: invocation }] }),
  }
  const parent = task.traceparent === undefined ? context.active() : contextOf(task.traceparent)
  return within(`run ${task.type}`, options, parent, async span => {
    const end = await work(traceparentOf(span))
    span.setAttribute('baton.outcome', end.outcome)
    if (end.error) recordError(span, end.error)
    return end
  })
}

/**
 * Does `work` within a span `publish <type>`, a child of `traceparent` or, without one, of the caller's active span.
 * `work` gets the traceparent that the task must carry, or undefined when there is no trace.
 */
export function inPublishSpan<Result>(
  type: string,
  traceparent: string | undefined,
  work: (traceparent: string | undefined, span: Span) => Promise<Result>,
): Promise<Result> {
  const options = { kind: SpanKind.PRODUCER, attributes: { 'baton.task.type': type } }
  const parent = traceparent === undefined ? context.active() : contextOf(traceparent)
  return within(`publish ${type}`, options, parent, span => work(traceparentOf(span), span))
}

type Flushable = { getDelegate?(): unknown; forceFlush?(): Promise<void> }

/**
 * Exports the finished spans. Await it before the end of an invocation: a frozen sandbox exports nothing, and an SDK without a layer does
 * not flush by itself. Spans that cannot be exported in time do not fail the work. The SDK reports its own errors.
 */
export async function flushSpans(clock: Clock): Promise<void> {
  const provider = trace.getTracerProvider() as Flushable
  const registered = (provider.getDelegate?.() ?? provider) as Flushable
  if (!registered.forceFlush) return
  const done = new AbortController()
  const flushed = registered.forceFlush().catch(() => undefined)
  await Promise.race([flushed, clock.sleep(FLUSH_LIMIT_MS, done.signal)])
  done.abort()
}

async function within<Result>(
  name: string,
  options: Parameters<ReturnType<typeof trace.getTracer>['startSpan']>[1],
  parent: Context,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = trace.getTracer(TRACER).startSpan(name, options, parent)
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span))
  } catch (error) {
    recordError(span, error instanceof Error ? error : { name: 'Error', message: String(error) })
    throw error
  } finally {
    span.end()
  }
}

function recordError(span: Span, { name, message, stack }: TaskError): void {
  span.recordException({ name, message, ...(stack !== undefined && { stack }) })
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}

/** Parses a traceparent. OpenTelemetry's propagator cannot do it, since none is registered without an SDK. */
function contextOf(traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  const remote: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return trace.setSpanContext(ROOT_CONTEXT, remote)
}

function traceparentOf(span: Span): string | undefined {
  const spanContext = span.spanContext()
  if (!isSpanContextValid(spanContext)) return undefined
  const { traceId, spanId, traceFlags } = spanContext
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
