import { afterEach, beforeEach, expect, it, vi } from 'vitest'

let lines: string[]
beforeEach(() => {
  lines = []
  vi.resetModules()
  // Powertools has a console of its own on the process's output.
  vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    lines.push(
      ...String(text)
        .split('\n')
        .filter(line => line.startsWith('{"_aws"')),
    )
    return true
  })
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Returns the metrics that the functions write when `kept` names those kept by type, each as `name type value`. */
async function written(kept: string | undefined): Promise<string[]> {
  if (kept !== undefined) vi.stubEnv('BATON_TYPE_METRICS', kept)
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'Baton')
  vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'Baton')
  const { metrics, flushMetrics } = await import('../../functions/compose/compose.ts')
  metrics.add('Lateness', 3, 'resize')
  metrics.add('RunTime', 7, 'resize')
  metrics.add('SweeperRepaired', 1, '*')
  flushMetrics()
  return lines.flatMap(line => {
    const { _aws, type, ...values } = JSON.parse(line)
    const names: string[] = _aws.CloudWatchMetrics[0].Metrics.map(({ Name }: { Name: string }) => Name)
    return names.map(name => `${name} ${type} ${values[name]}`)
  })
}

const ALL = ['Lateness * 3', 'RunTime * 7', 'SweeperRepaired * 1']

it('metrics are written for all types together, and for no single type unless the app asks for it', async () => {
  expect((await written(undefined)).sort()).toEqual(ALL)
})

it('a metric that the app asked for is written for its type, too', async () => {
  expect((await written('Lateness:resize,RunTime:crop')).sort()).toEqual([...ALL, 'Lateness resize 3'].sort())
})

it('a metric that is kept for every type is written for each type; other metrics are not', async () => {
  expect((await written('RunTime:*')).sort()).toEqual([...ALL, 'RunTime resize 7'].sort())
})
