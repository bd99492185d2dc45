import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type App, Stack, Stage } from 'aws-cdk-lib'
import { Annotations, Match } from 'aws-cdk-lib/assertions'
import { Construct } from 'constructs'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Placement } from '../../../infra/placement.ts'
import { aFolder } from '../../support/a-folder.ts'
import { anApp } from '../synthesised.ts'

/** Where the handlers of a system are: the construct id of the stack of each. */
type Stands = Readonly<Record<string, string>>

let project: string

/** An app that does not print the warnings that the tests read. */
const aQuietApp = (context: Readonly<Record<string, unknown>> = {}) =>
  anApp({ '@aws-cdk/core:annotationsInValidationReport': false, ...context })

/** The tests synthesise in a project of their own, as the command line of CDK does. */
beforeEach(() => {
  project = aFolder()
  vi.spyOn(process, 'cwd').mockReturnValue(project)
  vi.stubEnv('CDK_OUTDIR', 'cdk.out')
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `H${index + 1}`)

/** A handler, or a function of several types with their number, such as `Small*12`. */
type Added = string

const idOf = (added: Added) => added.split('*')[0] as string
const typesOf = (added: Added) => Number(added.split('*')[1] ?? 1)

/** Adds a system with these handlers, and returns where they are. */
function add(
  stack: Stack,
  handlers: readonly Added[],
  id = 'Tasks',
  alarms: 'all' | 'essential' = 'essential',
): Stands {
  const system = new Construct(stack, id)
  const placement = new Placement(system, 'Nested', new Construct(system, 'Handlers'), alarms)
  const standOf = (handler: Added) =>
    Stack.of(placement.add(idOf(handler), typesOf(handler), scope => new Construct(scope, idOf(handler))))
      .node.id
  return Object.fromEntries(handlers.map(handler => [idOf(handler), standOf(handler)]))
}

/** Synthesises an app with one system, and returns where its handlers are. */
function deploy(ids: readonly string[]): Stands {
  const app = aQuietApp()
  const stands = add(new Stack(app, 'Baton'), ids)
  app.synth()
  return stands
}

/** Asserts that every handler that has a place keeps it. */
function expectUnmoved(before: Stands, after: Stands): void {
  expect(after).toMatchObject(Object.fromEntries(Object.entries(before).filter(([id]) => id in after)))
}

const contextFile = () => join(project, 'cdk.context.json')
const readContext = () => JSON.parse(readFileSync(contextFile(), 'utf8'))
const recorded = () => readContext()['baton-tasks:places']
const warningsOf = (stack: Stack) =>
  Annotations.fromStack(stack)
    .findWarning('*', Match.anyValue())
    .map(({ entry }) => String(entry.data))

describe('The first 30 handlers are in the stack of the system', () => {
  it('and each further one in a nested stack', () => {
    const stands = deploy(numbered(32))

    const nested = Object.entries(stands).filter(([, stack]) => stack !== 'Baton')

    expect(nested.map(([id]) => id)).toEqual(['H31', 'H32'])
    for (const [, stack] of nested) expect(stack).toMatch(/^Handlers\d+$/)
  })

  it('and the first 24 with all alarms, which take more resources', () => {
    const stands = add(new Stack(aQuietApp(), 'Baton'), numbered(25), 'Tasks', 'all')

    expect(Object.keys(stands).filter(id => stands[id] !== 'Baton')).toEqual(['H25'])
  })

  it('and the nested stack of a handler depends on its id only', () => {
    const one = deploy(numbered(90))
    const other = add(new Stack(aQuietApp(), 'Other'), numbered(90).toReversed(), 'More')
    const nestedInBoth = numbered(90).filter(id => one[id] !== 'Baton' && other[id] !== 'Other')

    expect(nestedInBoth.length).toBeGreaterThan(0)
    for (const id of nestedInBoth) expect(other[id]).toBe(one[id])
  })
})

describe('No handler moves', () => {
  const before = numbered(40)

  it.each<[string, (ids: string[]) => string[]]>([
    ['a handler of the first 30 is removed', ids => ids.filter(id => id !== 'H5')],
    ['all of the first 30 are removed', ids => ids.slice(30)],
    ['a nested handler is removed', ids => ids.filter(id => id !== 'H35')],
    ['a handler is inserted before all others', ids => ['New', ...ids]],
    ['a handler is added after all others', ids => [...ids, 'New']],
    ['all are added in another order', ids => ids.toReversed()],
    ['some are removed, some added and the rest reordered', ids => ['A', ...ids.toReversed().slice(5), 'B']],
  ])('when %s', (_what, change) => {
    const first = deploy(before)

    expectUnmoved(first, deploy(change(before)))
  })

  it('when a removed handler comes back', () => {
    const first = deploy(before)
    deploy(before.filter(id => id !== 'H35' && id !== 'H5'))

    expectUnmoved(first, deploy(before.toReversed()))
  })

  it('when a new one comes after a handler of the first 30 was removed: it does not take that room', () => {
    deploy(before)
    const rest = before.filter(id => id !== 'H5')

    expect(deploy(['New', ...rest]).New).toMatch(/^Handlers\d+$/)
  })

  it('when handlers are inserted before the first 30, before any is nested', () => {
    const first = deploy(numbered(22))

    expectUnmoved(first, deploy([...Array.from({ length: 15 }, (_, nth) => `New${nth}`), ...numbered(22)]))
  })
})

describe('A function of several types', () => {
  it('counts as the resources that it takes', () => {
    const stands = deploy(['Small*30', ...numbered(20)])

    const inOwnStack = Object.values(stands).filter(stack => stack === 'Baton')

    // The function of 30 types takes 124 resources and a handler 8, of 240.
    expect(inOwnStack).toHaveLength(1 + 14)
  })

  it('is in the next nested stack when its own has no room for it', () => {
    const stands = deploy([...numbered(30), ...Array.from({ length: 30 }, (_, nth) => `Group${nth}*30`)])

    const groups = Object.values(stands).filter(stack => stack !== 'Baton')

    const most = Math.max(...new Set(groups.map(stack => groups.filter(one => one === stack).length)))
    expect(groups).toHaveLength(30)
    // 450 resources have room for three of them.
    expect(most).toBe(3)
  })

  it('is recorded with the types that it counts as, which leave it room to grow', () => {
    deploy([...numbered(15), 'Small*12', 'Two*2'])
    const first = recorded().Tasks
    deploy([...numbered(15), 'Small*15', 'Two'])

    expect(first).toMatchObject({ Small: 'own:15', Two: 'own:5', H1: 'own' })
    expect(recorded().Tasks).toEqual(first)
    deploy([...numbered(15), 'Small*16'])
    expect(recorded().Tasks).toEqual({ ...first, Small: 'own:20' })
  })

  it('keeps its room while the app adds others before it', () => {
    const first = deploy([...numbered(10), 'Small*25'])

    const next = deploy([...Array.from({ length: 20 }, (_, nth) => `New${nth}`), ...numbered(10), 'Small*25'])

    expectUnmoved(first, next)
    expect(first.Small).toBe('Baton')
    // Of 240 resources 80 and 104 are taken.
    expect(Object.keys(next).filter(id => id.startsWith('New') && next[id] === 'Baton')).toHaveLength(7)
  })
})

it('Whatever is added, removed or reordered, nothing moves, and no nested stack is overfull', () => {
  const first = numbered(20)
  const other = fc
    .integer({ min: 1, max: 99 })
    .map(nth => `Other${nth}*${nth % 3 === 0 ? (nth % RESOURCES.groupedMax) + 1 : 1}`)
  const version = fc.uniqueArray(fc.oneof(other, fc.constantFrom(...first)), { maxLength: 60 })

  fc.assert(
    fc.property(fc.array(version, { minLength: 2, maxLength: 4 }), versions => {
      rmSync(contextFile(), { force: true })
      let stands = deploy(first)
      for (const handlers of versions) {
        const all = ['H1', ...handlers.filter(one => one !== 'H1')]
        const next = deploy(all)
        expectUnmoved(stands, next)
        expect(fullest(all, next)).toBeLessThanOrEqual(RESOURCES.nestedMax)
        stands = { ...stands, ...next }
      }
    }),
    { numRuns: 15 },
  )
})

const RESOURCES = { nestedMax: 450, groupedMax: 30, perFunction: 4, perType: 4 }

/** The most resources that the handlers take in one nested stack. */
function fullest(handlers: readonly Added[], stands: Stands): number {
  const resources = new Map<string, number>()
  for (const one of handlers) {
    const stack = stands[idOf(one)] as string
    const own = RESOURCES.perFunction + RESOURCES.perType * typesOf(one)
    if (stack !== 'Baton') resources.set(stack, (resources.get(stack) ?? 0) + own)
  }
  return Math.max(0, ...resources.values())
}

describe('The record in cdk.context.json', () => {
  it('is not needed by a system of 19 handlers', () => {
    deploy(numbered(19))

    expect(existsSync(contextFile())).toBe(false)
  })

  it('begins with the 20th handler, and asks for a commit once', () => {
    const app = aQuietApp()
    const stack = new Stack(app, 'Baton')
    add(stack, numbered(20))
    const again = new Stack(aQuietApp(), 'Baton')

    expect(warningsOf(stack)).toEqual([
      expect.stringContaining('now recorded in cdk.context.json; commit this file'),
    ])
    add(again, numbered(20))
    expect(warningsOf(again)).toEqual([])
    expect(recorded()).toEqual({ Tasks: Object.fromEntries(numbered(20).map(id => [id, 'own'])) })
  })

  it('names the nested stack of each nested handler, and is sorted', () => {
    const stands = deploy(numbered(31))

    expect(recorded().Tasks.H31).toBe(stands.H31)
    expect(Object.keys(recorded().Tasks)).toEqual(numbered(31).sort())
  })

  it('leaves the other members of the file as they are', () => {
    writeFileSync(contextFile(), JSON.stringify({ 'availability-zones': ['a'] }))

    deploy(numbered(20))

    expect(readContext()['availability-zones']).toEqual(['a'])
    expect(readFileSync(contextFile(), 'utf8')).toMatch(/^\{\n {2}"availability-zones".*\}\n$/s)
  })

  it('is read from the context, which command lines pass on', () => {
    const app = aQuietApp({ 'baton-tasks:places': { Tasks: { H1: 'Handlers7' } } })

    expect(add(new Stack(app, 'Baton'), ['H1', 'H2'])).toEqual({ H1: 'Handlers7', H2: 'Baton' })
  })

  it.each([
    ['no JSON', '{', /cdk\.context\.json cannot be read/],
    [
      'a place that does not exist',
      '{"baton-tasks:places": {"Tasks": {"H1": "elsewhere"}}}',
      "'baton-tasks:places'.'Tasks'.'H1' of cdk.context.json, or of the app's context, must be 'own' or 'Handlers' and a number, with ':' and a number of types for several, not \"elsewhere\"",
    ],
    ['a list of handlers', '{"baton-tasks:places": {"Tasks": ["H1"]}}', "'baton-tasks:places'.'Tasks' of"],
    ['no systems', '{"baton-tasks:places": 1}', "'baton-tasks:places' of cdk.context.json"],
  ])('is refused with %s', (_what, text, message) => {
    writeFileSync(contextFile(), text)

    expect(() => deploy(['H1'])).toThrow(message)
  })

  it('is not written by a unit test of a stack, which says so', () => {
    vi.stubEnv('CDK_OUTDIR', undefined)
    const stack = new Stack(aQuietApp(), 'Baton')
    add(stack, numbered(31))

    expect(warningsOf(stack)).toEqual([
      expect.stringContaining('does not record the places of all handlers yet'),
    ])
    expect(existsSync(contextFile())).toBe(false)
  })

  it('is not written by baton dev, which deploys nothing', () => {
    const stack = new Stack(aQuietApp({ 'baton:dev': true }), 'Baton')
    add(stack, numbered(31))

    expect(warningsOf(stack)).toEqual([])
    expect(existsSync(contextFile())).toBe(false)
  })

  it('that cannot be written is a warning with the reason', () => {
    const file = join(project, 'file')
    writeFileSync(file, '')
    vi.spyOn(process, 'cwd').mockReturnValue(join(file, 'below'))
    const stack = new Stack(aQuietApp(), 'Baton')
    add(stack, numbered(31))

    expect(warningsOf(stack)).toEqual([
      expect.stringMatching(/cannot be recorded in cdk\.context\.json \(.*ENOTDIR/),
    ])
  })
})

describe('Several systems of one app', () => {
  const others = (count: number) => Array.from({ length: count }, (_, nth) => `Other${nth + 1}`)

  it('in one stack have an entry each', () => {
    const stack = new Stack(aQuietApp(), 'Baton')
    add(stack, numbered(31))
    add(stack, numbered(20), 'More')
    Annotations.fromStack(stack)

    expect(Object.keys(recorded())).toEqual(['More', 'Tasks'])
    expect(recorded().More.H20).toBe('own')
  })

  it('in the stages of one app share their places', () => {
    const inStages = (app: App, ids: readonly string[], ...names: string[]) =>
      names.map(name => add(new Stack(new Stage(app, name), 'Baton'), ids))
    const first = aQuietApp()
    const [beta] = inStages(first, numbered(31), 'Beta')
    first.synth()

    const [again, prod] = inStages(aQuietApp(), numbered(31).toReversed(), 'Beta', 'Prod')

    expect(Object.keys(recorded())).toEqual(['Tasks'])
    expect(again).toEqual(beta)
    expect(prod).toEqual(beta)
  })

  it('at one path of two stacks keep places of their own', () => {
    const both = (large: readonly string[], small: readonly string[]) => {
      const app = aQuietApp()
      const stands = [add(new Stack(app, 'Small'), small), add(new Stack(app, 'Large'), large)]
      app.synth()
      return stands as [Stands, Stands]
    }
    const [small, large] = both(numbered(31), ['H31', ...others(3)])

    const [smallAgain, largeAgain] = both(numbered(40).toReversed(), ['H31', ...others(5)].toReversed())

    expect(Object.keys(recorded())).toEqual(['/Small/Tasks', 'Tasks'])
    expectUnmoved(small, smallAgain)
    expectUnmoved(large, largeAgain)
    expect(new Set(Object.values(smallAgain))).toEqual(new Set(['Small']))
  })

  it('at one path, of which one is synthesised alone, must be distinguished', () => {
    deploy(numbered(31))
    const app = aQuietApp()
    add(new Stack(app, 'Small'), others(3))

    expect(() => app.synth()).toThrow("Add the entry '/Small/Tasks': {} next to it")
    expect(Object.keys(recorded())).toEqual(['Tasks'])

    const entry = { ...recorded(), '/Small/Tasks': {} }
    writeFileSync(contextFile(), JSON.stringify({ 'baton-tasks:places': entry }))
    const stands = add(new Stack(aQuietApp(), 'Small'), others(3))

    expect(new Set(Object.values(stands))).toEqual(new Set(['Small']))
  })
})
