/**
 * Spans by OpenTelemetry's API: whoever registers an SDK in the process (a layer, an agent, own code) gets them; without
 * one they record nothing, and the traceparent that came in is the one that goes on.
 */
import {
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type LiveRun, runId, type Task, type TaskError } from '../../core/task/task.ts'
import type { Clock } from '../../ports/machine.ts'

const TRACER = 'baton'
/** An exporter that hangs must not take an invocation past its time. */
const FLUSH_LIMIT_MS = 2_000

/** What a span says of a run's end. */
type RunEnd = { readonly outcome: string; readonly error?: TaskError }

/**
 * Does `work` within a span `run <type>`, a child of what published the task. `work` gets the run's own traceparent,
 * undefined where there is no trace. What it throws is recorded, too.
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
    // The task's trace goes on, not that of the invocation which happens to serve it.
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
 * Does `work` within a span `publish <type>`, a child of `traceparent` or else of what the caller is doing. `work` gets
 * the traceparent that the task shall carry; undefined where there is no trace to go on with.
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
 * Hands finished spans to their exporter. To be awaited before the end of an invocation: a frozen sandbox exports
 * nothing, and layers that flush by themselves cannot wrap the handler of an ES module. Spans that cannot be exported in
 * time must not fail the work they are about; the SDK reports its own errors.
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

type SpanOptions = Parameters<ReturnType<typeof trace.getTracer>['startSpan']>[1]

async function within<Result>(
  name: string,
  options: SpanOptions,
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

/** Parsed here, since without an SDK no propagator is registered. */
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
