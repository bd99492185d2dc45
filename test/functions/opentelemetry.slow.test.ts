import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { aLocalSystem } from '../support/local-system/local-system.ts'

const hook = pathToFileURL('test/local/fixtures/opentelemetry.mjs').href
const system = aLocalSystem({ environment: { NODE_OPTIONS: `--import ${hook}` } })

type Span = { span: string; spanId: string; traceId: string; parent?: string; links: readonly string[] }

/** The spans that the process of a function has ended. */
function spansOf(functionName: string): Span[] {
  const { logs } = system.cloud.functions.find(functionName)
  return logs.filter(line => line.startsWith('{"span"')).map(line => JSON.parse(line))
}

it('a run is one span in the trace of its task, linked to the span by which OpenTelemetry wraps the ES module', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`
  const id = await system.publish({ type: 'word-count', input: { text: 'a b' }, traceparent })

  await system.taskWhen(id, ({ status }) => status === 'succeeded')
  const { name } = system.cloud.functions.find('WordCount')
  await expect.poll(() => spansOf('WordCount').map(({ span }) => span)).toContain(name)

  const spans = spansOf('WordCount')
  const [run, ...more] = spans.filter(({ span }) => span === 'run word-count')
  const invocation = spans.find(({ span }) => span === name)
  const [publishing, ...others] = spansOf('ApiFunction').filter(({ span }) => span === 'publish word-count')
  expect([more, others]).toEqual([[], []])
  expect(run).toMatchObject({ traceId, parent: publishing?.spanId, links: [invocation?.spanId] })
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
})
