import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Topic } from 'aws-cdk-lib/aws-sns'
import type { MetricName } from '../../../shared/ports/machine.ts'
import { aSystem, readTemplate } from '../../infra/synthesised.ts'
import { type Names, walk } from './names.ts'

/** Names outside the table: of the template, of the environment, of metrics, of the HTTP API. */

const FIXTURES = 'test/infra/fixtures'

/** A system with everything that can be added to one. */
function aWholeSystem() {
  const { stack, tasks } = aSystem({ alarms: 'all', metrics: 'perType' })
  tasks.addHandler('Resize', { entry: `${FIXTURES}/resize.ts` })
  tasks.addWorkerQueue('Second', { entry: `${FIXTURES}/two-tasks.ts`, task: 'second' })
  tasks.addWorkerService('Encode', { entry: 'test/system/tasks/encode.ts' })
  tasks.alarmOnFailures({ failures: 5, perMinutes: 15, topic: new Topic(stack, 'Topic') })
  tasks.addFlow('Order', { entry: `${FIXTURES}/order.ts`, events: true })
  tasks.addDashboard()
  return readTemplate(stack)
}

type Members = Readonly<Record<string, unknown>>

export function noteTemplate(names: Names): void {
  const { resources, json } = aWholeSystem()
  for (const name of Object.keys(json.Outputs)) names.add('Template: outputs', name)
  for (const { id, Type, Properties } of resources) {
    names.add('Template: logical ids', `${id}: ${Type}`)
    noteNames(names, id, Properties)
    noteEnvironment(names, id, Properties)
    noteMetrics(names, Properties)
  }
}

function noteNames(names: Names, id: string, properties: Members): void {
  for (const [name, value] of Object.entries(properties)) {
    const isName = /Name$/.test(name) && typeof value === 'string'
    if (isName) names.add('Template: physical names', `${id}.${name} = ${value}`)
  }
}

function noteEnvironment(names: Names, id: string, properties: Members): void {
  walk(properties, '', path => {
    const variable = /Environment\.Variables\.(\w+)$/.exec(path)?.[1]
    if (variable !== undefined) names.add('Environment: set by the template', `${id}: ${variable}`)
  })
  for (const { Name } of environmentsIn(properties))
    names.add('Environment: set by the template', `${id}: ${Name}`)
}

function environmentsIn({ ContainerDefinitions = [] }: Members): Array<{ Name: string }> {
  return (ContainerDefinitions as Array<{ Environment?: Array<{ Name: string }> }>).flatMap(
    ({ Environment = [] }) => Environment,
  )
}

/** Metrics of alarms and of the dashboard, whose body is text with references in it. */
function noteMetrics(names: Names, properties: Members): void {
  const text = JSON.stringify(properties).replaceAll('\\"', '"')
  for (const [, name, rest = ''] of text.matchAll(/"MetricName":"(\w+)","Namespace":"Baton"/g)) {
    names.add('Metrics: read by alarms', `${name}${rest}`)
  }
  for (const [, name] of text.matchAll(/"Baton","(\w+)"/g))
    names.add('Metrics: read by the dashboard', `${name}`)
}

const METRICS: Record<MetricName, true> = {
  Lateness: true,
  ClaimConflict: true,
  LeaseLost: true,
  LookLoop: true,
  UnscheduledMinute: true,
  SweeperRepaired: true,
  Stuck: true,
  NeedsAttention: true,
  TaskFault: true,
  RunTime: true,
  Published: true,
  Succeeded: true,
  Failed: true,
  Retried: true,
}

/** Records the metrics that the functions write for CloudWatch: one line of JSON for each set of dimensions. */
export async function metricLines(write: () => Promise<readonly string[]>, names: Names): Promise<void> {
  for (const line of await write()) {
    const { _aws, ...values } = JSON.parse(line)
    for (const { Namespace, Dimensions, Metrics } of _aws.CloudWatchMetrics) {
      for (const { Name, Unit } of Metrics) {
        names.add(
          'Metrics: written by functions',
          `${Namespace} ${Name} ${Unit} by ${Dimensions.flat().toSorted()}`,
        )
      }
    }
    for (const name of Object.keys(values)) names.add('Metrics: members of a line', name)
  }
}

export const METRIC_NAMES = Object.keys(METRICS) as MetricName[]

const CODE = ['shared', 'functions', 'infra', 'local', 'cli', 'scripts', 'examples']

/** Records the environment variables that code names. Comments do not count. */
export function noteEnvironmentOfCode(names: Names): void {
  for (const file of CODE.flatMap(sources)) {
    const code = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    const own = code.matchAll(/\b(?:BATON|POWERTOOLS)_[A-Z_]*[A-Z]/g)
    const others = code.matchAll(/\benv\.([A-Z][A-Z_]+)|\benv\[?'([A-Z_]+)'/g)
    for (const [name] of own) names.add('Environment: named by code', name)
    for (const [, dotted, quoted] of others) names.add('Environment: named by code', dotted ?? quoted ?? '')
  }
}

export function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => /\.(ts|mjs|py)$/.test(file))
    .map(file => join(folder, file))
    .toSorted()
}

type Schema = Readonly<Record<string, unknown>>

/** The names in the OpenAPI document: operations with their parameters, and every property of requests and answers. */
export function noteHttp(names: Names): void {
  const { paths, components } = JSON.parse(readFileSync('functions/http/openapi.json', 'utf8')) as {
    paths: Record<string, Record<string, Schema>>
    components: { schemas: Record<string, Schema> }
  }
  noteComponents(names, components.schemas)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, route: `${method} ${path}`, operation })),
  )
  for (const { route, operation } of operations) noteOperation(names, route, operation)
  noteAnswers(names, operations)
}

/** Records each property once, with all components that have it: the options of tasks are in many of them. */
function noteComponents(names: Names, schemas: Record<string, Schema>): void {
  const properties = new Map<string, string[]>()
  for (const [name, schema] of Object.entries(schemas)) {
    const own = new Set<string>()
    noteProperties(property => own.add(property), '', schema)
    for (const property of own) properties.set(property, [...(properties.get(property) ?? []), name])
  }
  for (const [property, owners] of properties)
    names.add('HTTP: properties of components', `${property} in ${owners.toSorted().join(', ')}`)
}

function noteOperation(names: Names, route: string, operation: Schema): void {
  names.add('HTTP: operations', `${route} = ${operation.operationId}`)
  for (const { name, in: where } of operation.parameters as Array<{ name: string; in: string }>) {
    names.add('HTTP: parameters', `${route}: ${where} ${name}`)
  }
  noteProperties(
    property => names.add('HTTP: properties of requests', property),
    route,
    operation.requestBody,
  )
}

type OperationOf = { readonly method: string; readonly route: string; readonly operation: Schema }

/** Records an answer that every operation gives, or every operation of a method, only once. */
function noteAnswers(names: Names, operations: readonly OperationOf[]): void {
  const answers = operations.map(({ method, route, operation }) => ({
    method,
    route,
    own: answersOf(operation),
  }))
  const owner = (answer: string, { method, route }: { method: string; route: string }) => {
    const isOfAll = (some: typeof answers) => some.every(({ own }) => own.has(answer))
    if (isOfAll(answers)) return 'every operation'
    return isOfAll(answers.filter(one => one.method === method)) ? `every ${method}` : route
  }
  for (const one of answers) {
    for (const answer of one.own) names.add('HTTP: answers', `${owner(answer, one)}: ${answer}`)
  }
}

/** The properties of the answers of an operation, each with its status. An answer without a body is its status alone. */
function answersOf(operation: Schema): Set<string> {
  const answers = Object.entries(operation.responses as Schema).flatMap(([status, answer]) => {
    const properties: string[] = []
    noteProperties(property => properties.push(property), status, answer)
    return properties.length > 0 ? properties : [status]
  })
  return new Set(answers)
}

/** Properties at any depth, alternatives united, and the words of closed sets. */
function noteProperties(note: (property: string) => void, path: string, schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const [keyword, value] of Object.entries(schema)) {
    for (const word of wordsOf(keyword, value)) note(`${path} ${word}`)
    for (const [below, part] of partsOf(keyword, value, path)) {
      if (below !== path) note(below)
      noteProperties(note, below, part)
    }
  }
}

function wordsOf(keyword: string, value: unknown): string[] {
  if (keyword === '$ref') return [`→ ${String(value).split('/').at(-1)}`]
  if (keyword === 'const') return [`= ${value}`]
  return keyword === 'enum' ? (value as unknown[]).map(word => `= ${word}`) : []
}

/** The parts below a keyword: the members of an object by their names, everything else under the present path. */
function partsOf(keyword: string, value: unknown, path: string): Array<readonly [string, unknown]> {
  if (keyword !== 'properties') return [[path, value]]
  return Object.entries(value as Schema).map(([name, below]) => [`${path}.${name}`, below] as const)
}
