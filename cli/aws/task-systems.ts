import { BatonError } from '../../shared/core/errors.ts'
import type { ReadStack } from './stacks.ts'

/** What the outputs of a stack say about one of its task systems. The construct `TaskSystem` writes them. */
export type TaskSystemOutputs = {
  readonly name: string
  readonly url: string
  readonly table: string
  readonly wakeQueueUrl: string
  readonly jobsQueueUrl: string
}

const NAME_OUTPUT = 'SystemName'

/**
 * Chooses the system that a user names in a stack, or its only one.
 *
 * @throws BatonError `invalid` when the stack has none, has no such one, or has several and the user names none.
 */
export function chooseSystem(stack: ReadStack, named: string | undefined): TaskSystemOutputs {
  const systems = systemsOf(stack)
  if (systems.length === 0) throw new BatonError('invalid', noSystem(stack))
  const fitting = named === undefined ? systems : systems.filter(({ name }) => name === named)
  const [first] = fitting
  if (first && fitting.length === 1) return first
  const names = systems.map(({ name }) => name).join(', ')
  const found =
    named === undefined ? `several task systems, ${names}` : `no task system ${named}, only ${names}`
  const example = `--stack ${stack.name}/${systems[0]?.name}`
  throw new BatonError('invalid', `the stack ${stack.name} has ${found}: give for example ${example}`)
}

/** A system with a name of its own has outputs that begin with it, so all are found by the end of their keys. */
function systemsOf({ outputs }: ReadStack): TaskSystemOutputs[] {
  return [...outputs].flatMap(([key, name]) => {
    if (!key.endsWith(NAME_OUTPUT)) return []
    const prefix = key.slice(0, -NAME_OUTPUT.length)
    const output = (one: string) => outputs.get(prefix + one)
    const [url, table, wakeQueueUrl, jobsQueueUrl] = [
      'ApiUrl',
      'TableName',
      'WakeQueueUrl',
      'JobsQueueUrl',
    ].map(output)
    if (!url || !table || !wakeQueueUrl || !jobsQueueUrl) return []
    return [{ name, url, table, wakeQueueUrl, jobsQueueUrl }]
  })
}

function noSystem({ name, status, region, outputs }: ReadStack): string {
  const keys = [...outputs.keys()]
  const has = keys.length === 0 ? 'it has no outputs' : `its outputs are ${keys.join(', ')}`
  return `the stack ${name} in ${region} (${status}) has no task system: ${has}`
}
