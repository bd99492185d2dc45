import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { decodeWake } from '../../shared/aws/sqs/wire.ts'
import { exampleWrites } from './stored-names/examples.ts'
import { createMirror, type Mirror } from './stored-names/mirror.ts'
import { createNames } from './stored-names/names.ts'
import { playInto } from './stored-names/played.ts'
import {
  METRIC_NAMES,
  metricLines,
  noteEnvironmentOfCode,
  noteHttp,
  noteTemplate,
  sources,
} from './stored-names/surroundings.ts'

/**
 * Names that others depend on: data in tables and queues, deployed stacks, callers. They stay while code is renamed. After an
 * intended change, `BATON_WRITE_NAMES=1 vitest run --project unit test/contract/stored-names.test.ts` writes the file again.
 */
const SNAPSHOT = 'test/contract/stored-names.snap.txt'

const names = createNames()
let mirror: Mirror

beforeAll(async () => {
  mirror = createMirror(names)
  await exampleWrites(mirror, names)
  await playInto(mirror)
  await metricLines(metricsOfFunctions, names)
  noteTemplate(names)
  noteEnvironmentOfCode(names)
  noteHttp(names)
  if (process.env.BATON_WRITE_NAMES) writeFileSync(SNAPSHOT, textOf(names.groups()))
}, 60_000)

afterAll(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** The lines that Powertools writes to the output for every metric. */
async function metricsOfFunctions(): Promise<string[]> {
  const lines: string[] = []
  vi.resetModules()
  vi.stubEnv('BATON_TYPE_METRICS', 'Lateness:*')
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'Baton')
  vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'Baton')
  const output = vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    lines.push(
      ...String(text)
        .split('\n')
        .filter(line => line.startsWith('{"_aws"')),
    )
    return true
  })
  const { metrics, flushMetrics } = await import('../../functions/compose/compose.ts')
  for (const name of METRIC_NAMES) metrics.add(name, 1, 'resize')
  flushMetrics()
  output.mockRestore()
  return lines
}

function textOf(groups: ReadonlyMap<string, readonly string[]>): string {
  return [...groups].map(([group, members]) => `## ${group}\n${members.join('\n')}\n`).join('\n')
}

function groupsIn(text: string): Map<string, readonly string[]> {
  const sections = text.split(/^## /m).slice(1)
  return new Map(
    sections.map(section => {
      const [group = '', ...members] = section.trimEnd().split('\n')
      return [group, members] as const
    }),
  )
}

const snapshot = groupsIn(readFileSync(SNAPSHOT, 'utf8'))

describe('names that others depend on stay unchanged', () => {
  it.each([...snapshot.keys()])('%s', group => {
    const before = snapshot.get(group) ?? []
    const after = names.groups().get(group) ?? []
    const lost = before.filter(name => !after.includes(name))
    const added = after.filter(name => !before.includes(name))

    const why =
      'A name in what is stored, sent or deployed has changed. Deployed code and stored data have the former name. ' +
      `The change breaks stored data, messages under way, deployed stacks or callers. Lost: ${lost.join(' | ') || 'none'}. ` +
      `Added: ${added.join(' | ') || 'none'}. Give the name back its stored form; if the change is meant, see the head of this test.`
    expect({ lost, added }, why).toEqual({ lost: [], added: [] })
  })

  it('no group is missing or new', () => {
    expect([...names.groups().keys()]).toEqual([...snapshot.keys()])
  })
})

describe('the names are complete', () => {
  const recorded = () =>
    new Set(
      [...names.groups()]
        .filter(([group]) => group.startsWith('DynamoDB: attributes'))
        .flatMap(([, paths]) => paths.flatMap(path => path.split(/[.\s]|\[\]/))),
    )

  it('every member of the stored forms in the source of the DynamoDB adapters is among them', () => {
    const stored = sources('shared/aws/dynamo').flatMap(file => {
      const text = readFileSync(file, 'utf8')
      const rows = text.matchAll(/\b(?:always|optional|withDefault|mapped)\(\s*'(\w+)'/g)
      const derived = text.match(/function derivedAttributes.*?defined\(\{(.*?)\n {2}\}\)/s)?.[1] ?? ''
      return [...rows, ...derived.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name)
    })

    expect(stored.length).toBeGreaterThan(100)
    expect(stored.filter(name => !recorded().has(name))).toEqual([])
  })

  it('every attribute that an expression names is among them', () => {
    const named = sources('shared/aws/dynamo').flatMap(file => {
      const text = readFileSync(file, 'utf8')
      const lists = [...text.matchAll(/namesOf\(('[^)]*')\)/g)].map(([, list = '']) => list)
      const written = [...text.matchAll(/'#\w+': ('\w+')/g)].map(([, name = '']) => name)
      return [...lists, ...written].flatMap(list => list.match(/\w+/g) ?? [])
    })

    expect(named.length).toBeGreaterThan(30)
    expect(named.filter(name => !recorded().has(name))).toEqual([])
  })

  /** Fields of messages that the code reads under another name. */
  const READ_AS: Readonly<Record<string, string>> = { limit: 'line', for: 'line', given: 'released' }

  it('every field of a message that is sent is read again', () => {
    const unread = mirror.wakes().flatMap(body => {
      const message = decodeWake(body)
      const read = 'look' in message ? message.look : 'late' in message ? message.late : message
      const { v: _version, kind: _kind, ...sent } = JSON.parse(body) as Record<string, unknown>
      return Object.keys(sent).filter(field => !((READ_AS[field] ?? field) in read))
    })

    expect(unread).toEqual([])
  })
})
