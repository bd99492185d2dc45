import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { TaskSystem, type TaskSystemProps } from '../../infra/index.ts'
import { aFolder } from '../support/a-folder.ts'

export type Resource = {
  readonly id: string
  readonly Type: string
  // biome-ignore lint/suspicious/noExplicitAny: a template is JSON of many shapes
  readonly Properties: any
  readonly DependsOn?: readonly string[]
  readonly DeletionPolicy?: string
}

const { context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: Record<string, unknown> }

/** An app with the flags of `cdk.json`. It does not bundle functions, since templates do not depend on their code. */
export function anApp(more: Readonly<Record<string, unknown>> = {}): App {
  const outdir = aFolder()
  return new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [], ...more } })
}

export function aSystem(props: TaskSystemProps = {}, stackName = 'Baton', app = anApp()) {
  const stack = new Stack(app, stackName)
  const tasks = new TaskSystem(stack, 'Tasks', props)
  return { app, stack, tasks }
}

/** A system with two handlers and the shipped one: its template, and its resources by type. */
export function synthesise(props: TaskSystemProps = {}) {
  const { stack, tasks } = aSystem(props)
  tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts' })
  tasks.addHandler('Second', {
    entry: 'test/infra/fixtures/two-tasks.ts',
    task: 'second',
    batchSize: 1,
    maxConcurrency: 5,
  })
  return { tasks, ...readTemplate(stack) }
}

export function readTemplate(stack: Stack) {
  const template = Template.fromStack(stack)
  const json = template.toJSON() as {
    Resources: Record<string, Omit<Resource, 'id'>>
    Outputs: Record<string, { Value: unknown }>
  }
  const resources: Resource[] = Object.entries(json.Resources).map(([id, resource]) => ({
    id,
    ...resource,
    Properties: resource.Properties ?? {},
  }))
  const ofType = (type: string) => resources.filter(({ Type }) => Type === type)
  return { template, json, resources, ofType }
}

/** A file that exports this many tasks, and their types, which begin with `prefix`. The tasks double a number. */
export function manyTasks(count: number, prefix = 'task') {
  return tasksOf(Array.from({ length: count }, (_, nth) => `${prefix}${nth + 1}`))
}

/** A file that exports a task of each of these types. */
export function tasksOf(types: readonly string[]) {
  const entry = join(aFolder(), 'tasks.ts')
  const task = (type: string) =>
    `export const ${type.replaceAll('-', '_')} = defineTask('${type}', { run: ({ number }) => ({ doubled: 2 * number }) })`
  const definer = JSON.stringify(resolve('shared/define/define-task.ts'))
  writeFileSync(entry, [`import { defineTask } from ${definer}`, ...types.map(task)].join('\n'))
  return { entry, types }
}

/** The logical id that a reference (`Ref`, `Fn::GetAtt`) points at. */
export function targetOf(reference: unknown): string | undefined {
  const { Ref, 'Fn::GetAtt': attribute } = (reference ?? {}) as { Ref?: string; 'Fn::GetAtt'?: string[] }
  return Ref ?? attribute?.[0]
}

/** The rows for `test.each`: a name for the sentence, and the resource. */
export const named = (resources: readonly Resource[]) =>
  resources.map(resource => [resource.id, resource] as const)
