import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PublishBody } from '../../shared/api/publish.ts'
import { BatonError, defined, type Json } from '../../shared/core/values/values.ts'
import { addFileOptions, type FileOptions, publishFile } from '../bulk/publish-file.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, duration, jsonArgument, wholeNumber } from '../terminal/command.ts'
import { optionWords } from '../terminal/io.ts'
import { oneLine } from '../terminal/style.ts'

type Tags = Readonly<Record<string, string>>

type BodyOptions = {
  readonly key?: string
  readonly userId?: string
  readonly tag?: Tags
  readonly delay?: number
  readonly dueAt?: string
  readonly priority?: number
  readonly ifExists?: NonNullable<PublishBody['ifExists']>
  readonly options?: Partial<PublishBody>
}

type Options = BodyOptions & FileOptions & { readonly wait?: boolean; readonly timeout?: number }

/** Longer than any task: `--wait` without `--timeout` ends with the task. */
const UNLIMITED_MS = Number.MAX_SAFE_INTEGER
const PRIORITY_MAX = 1_000_000_000

/** `baton publish`: one task, whose result it can wait for, or a task for each line of a file. */
export const publish: DefineCommand = (command, invocation) => {
  command
    .argument('[type]', 'the name of a type; without it, each line of --from is a whole task')
    .argument('[json]', 'the input of the task as JSON; - reads it from the input')
  addBodyOptions(command)
  command
    .option('--wait', 'waits for the end, and prints the result')
    .option('--timeout <duration>', 'how long --wait waits (default: until the end)', duration)
  addFileOptions(command)
  withSystem(command, invocation, async (context, options: Options, type?: string, json?: string) => {
    const body = bodyOf(type, options)
    if (options.from === undefined) {
      if (type === undefined) throw new BatonError('invalid', 'name a type, or give whole tasks by --from')
      await publishOneTask(context, await withInput(context, { ...body, type }, json), options)
      return 0
    }
    if (json !== undefined) throw new BatonError('invalid', 'give either an input or --from, not both')
    if (options.wait || options.key !== undefined || options.options?.key !== undefined)
      throw new BatonError('invalid', '--from publishes many tasks: give neither --wait nor a key')
    return publishFile(context, body, { ...options, from: options.from, words: wordsOf(type, options) })
  })
}

function addBodyOptions(command: Command): void {
  const ifExistsValues = ['keep', 'update', 'reject', 'restart']
  command
    .option('--key <key>', 'the idempotency key: a second publish of it creates nothing')
    .option('--user-id <id>', 'the user whose task it is')
    .option('--tag <name=value>', 'a tag; may be repeated', tag)
    .option('--delay <duration>', 'how long until the task is due, such as 30s or 2h', duration)
    .addOption(new Option('--due-at <time>', 'when the task is due, in ISO 8601').conflicts('delay'))
    .option('--priority <n>', 'higher comes first', wholeNumber(-PRIORITY_MAX, PRIORITY_MAX))
    .addOption(
      new Option('--if-exists <way>', 'what happens to a task that has the key').choices(ifExistsValues),
    )
    .option('--options <json>', 'further fields of the task, such as {"timeoutMs": 60000}', jsonObject)
}

function tag(text: string, earlier: Tags = {}): Tags {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Give a tag as name=value.')
  return { ...earlier, [name]: value }
}

function jsonObject(text: string): Partial<PublishBody> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  throw new InvalidArgumentError('Give a JSON object.')
}

function bodyOf(type: string | undefined, given: BodyOptions): Partial<PublishBody> {
  const { key, userId, tag: tags, delay: delayMs, dueAt, priority, ifExists, options } = given
  return { ...options, ...defined({ key, userId, tags, delayMs, dueAt, priority, ifExists, type }) }
}

/** The words of the command that make the same body again. */
function wordsOf(type: string | undefined, given: BodyOptions): string[] {
  const { userId, tag: tags = {}, delay, dueAt, priority, ifExists, options } = given
  const named = {
    'user-id': userId,
    delay: delay === undefined ? undefined : `${delay}ms`,
    'due-at': dueAt,
    priority,
    'if-exists': ifExists,
    options: options && JSON.stringify(options),
  }
  return [
    ...(type === undefined ? [] : [type]),
    ...Object.entries(tags).flatMap(([name, value]) => ['--tag', `${name}=${value}`]),
    ...optionWords(named),
  ]
}

async function withInput({ io }: Context, body: PublishBody, json: string | undefined): Promise<PublishBody> {
  if (json === undefined) return body
  const input: Json = await jsonArgument(json, 'the input', io.input)
  return { ...body, input }
}

async function publishOneTask(
  { client, printer, io }: Context,
  body: PublishBody,
  { wait, timeout = UNLIMITED_MS }: Options,
): Promise<void> {
  const { id, created, task, notes = [] } = await client.publish(body)
  for (const note of notes) printer.note(oneLine(note))
  if (wait) {
    printer.note(`${id} ${created ? 'published' : `exists, ${task.status}`}; waiting for its end`)
    printer.document((await client.result(body.type, id, { timeoutMs: timeout, signal: io.signal })) ?? null)
    return
  }
  const outcome = created ? 'published' : `exists already (${task.status})`
  printer.answer(
    { id, created, task, ...(notes.length > 0 && { notes }) },
    `${printer.style.bold(oneLine(id))} ${outcome}`,
  )
}
