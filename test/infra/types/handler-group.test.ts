import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HANDLER_RESOURCES } from '../../../infra/bounds.ts'
import type { HandlersProps } from '../../../infra/index.ts'
import { queueNameOf } from '../../../shared/core/types/task-type.ts'
import { aDefinition, aProject } from '../bundling/a-project.ts'
import { aSystem, readTemplate, targetOf } from '../synthesised.ts'

const RESIZE = 'test/infra/fixtures/resize.ts'
const TWO_TASKS = 'test/infra/fixtures/two-tasks.ts'

function withGroup(props: Partial<HandlersProps> = {}) {
  const { stack, tasks } = aSystem({ webhook: false })
  const group = tasks.addHandlers('Small', { entries: [RESIZE, TWO_TASKS], ...props })
  return { group, ...readTemplate(stack) }
}

describe('Handlers in one function', () => {
  const { group, resources, ofType } = withGroup()
  const own = resources.filter(({ id }) => id.startsWith('TasksHandlersSmall'))

  it.each(['none', 'essential', 'all'] as const)(
    'take the resources that their place counts: alarms %s',
    alarms => {
      const { stack, tasks } = aSystem({ webhook: false, alarms })
      tasks.addHandlers('Small', { entries: [RESIZE, TWO_TASKS] })

      const taken = readTemplate(stack).resources.filter(({ id }) => id.startsWith('TasksHandlersSmall'))

      const { perFunction, perType } = HANDLER_RESOURCES[alarms]
      expect(taken).toHaveLength(perFunction + 3 * perType)
    },
  )

  it('have a queue, a mapping and a registration for each type', () => {
    const functions = own.filter(({ Type }) => Type === 'AWS::Lambda::Function')
    const mappings = own.filter(({ Type }) => Type === 'AWS::Lambda::EventSourceMapping')
    const queues = mappings.map(({ Properties }) => targetOf(Properties.EventSourceArn))
    const names = queues.map(id => resources.find(one => one.id === id)?.Properties.QueueName)

    expect(group.types.map(({ type }) => type)).toEqual(['resize', 'first', 'images.second'])
    expect(functions).toHaveLength(1)
    expect(mappings.map(({ Properties }) => targetOf(Properties.FunctionName))).toEqual(
      mappings.map(() => functions[0]!.id),
    )
    expect(names.sort()).toEqual(
      ['resize', 'first', 'images.second'].map(type => queueNameOf('Baton', type)).sort(),
    )
    expect(
      ofType('Custom::BatonType')
        .map(({ Properties }) => Properties.type)
        .sort(),
    ).toEqual(['first', 'images.second', 'resize'])
  })

  it('have the longest timeout that one of them needs', () => {
    const [fn] = own.filter(({ Type }) => Type === 'AWS::Lambda::Function')

    expect(fn!.Properties.Timeout).toBe(300)
    expect(fn!.Properties.Description).toBe('Baton: runs resize, first, images.second')
  })

  it('share the reserved concurrency evenly', () => {
    const most = withGroup({ reservedConcurrency: 10 })
      .ofType('AWS::Lambda::EventSourceMapping')
      .filter(({ id }) => id.includes('Small'))
      .map(({ Properties }) => Properties.ScalingConfig.MaximumConcurrency)

    expect(most).toEqual([3, 3, 3])
  })

  it('are found by a pattern, without tests and declarations', () => {
    const root = aProject({
      'tasks/a.ts': aDefinition('a'),
      'tasks/a.test.ts': 'throw 1',
      'tasks/types.d.ts': 'throw 1',
      'tasks/node_modules/x/x.ts': 'throw 1',
      'tasks/deep/er/b.tsx': aDefinition('b'),
      'tasks/deep/c.js': 'throw 1',
      'tasks/[id].ts': aDefinition('odd'),
    })
    const typesOf = (pattern: string) =>
      aSystem({ webhook: false })
        .tasks.addHandlers('Small', { entries: join(root, pattern) })
        .types.map(({ type }) => type)

    expect(typesOf('tasks/*.ts')).toEqual(['odd', 'a'])
    expect(typesOf('tasks/[id].ts')).toEqual(['odd'])
    expect(typesOf('tasks/**/*.{ts,tsx}')).toEqual(['odd', 'a', 'b'])
    expect(typesOf('tasks/deep/e?/[b].tsx')).toEqual(['b'])
    expect(typesOf('tasks/{a,d*/**/b}.ts*')).toEqual(['a', 'b'])
    expect(() => typesOf('tasks/{a,small-*}.ts')).toThrow(
      /no file matches '.*tasks\/small-\*\.ts', a choice of/,
    )
  })
})

describe('Handlers in one function are refused', () => {
  it.each<[string, Partial<HandlersProps>, string]>([
    [
      'for a pattern that matches nothing',
      { entries: 'tasks/small/*.ts' },
      "entries: no file matches 'tasks/small/*.ts'",
    ],
    ['for no file', { entries: [] }, 'entries is an empty list; name at least one file'],
    [
      'for a file without a task',
      { entries: 'test/infra/fixtures/no-task.ts' },
      'no-task.ts exports no task',
    ],
    [
      'for one type in two files',
      { entries: [RESIZE, 'test/infra/fixtures/../fixtures/resize.ts'] },
      "entries name the type 'resize' twice",
    ],
    [
      'for a run that outlasts a function',
      { entries: 'test/infra/fixtures/long-run.ts' },
      "long-run.ts, task 'long': timeoutMs must be at most 885000 on Lambda",
    ],
    [
      'with too small a reserved concurrency for all types',
      { reservedConcurrency: 5 },
      'reservedConcurrency must be at least 6 for 3 types, not 5',
    ],
    [
      'with a reserved concurrency below what all mappings may use',
      { reservedConcurrency: 20, maxConcurrency: 10 },
      'reservedConcurrency must be at least maxConcurrency for 3 types, which is 30, not 20',
    ],
  ])('%s', (_what, props, message) => {
    expect(() => withGroup(props)).toThrow(message)
  })

  it('for a type that another handler serves', () => {
    const { tasks } = aSystem({ webhook: false })
    tasks.addHandler('Resize', { entry: RESIZE })

    expect(() => tasks.addHandlers('Small', { entries: RESIZE })).toThrow(
      "'Resize' already serves the type 'resize'",
    )
  })
})
