import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ListFilter } from '../../shared/api/tasks.ts'
import { STATUSES } from '../../shared/core/states.ts'
import { defined } from '../../shared/core/values/values.ts'
import { repeated, someOf, timeBefore } from '../terminal/command.ts'

const NAMES = ['type', 'status', 'userId', 'canvasId', 'tag', 'error', 'since', 'until', 'order'] as const

/** The options that select tasks. */
export type FilterOptions = Pick<ListFilter, Exclude<(typeof NAMES)[number], 'type'>> & {
  readonly type?: readonly string[]
}

const ORDERS = ['due', '-due', 'created', '-created', 'ended', '-ended']

/** Adds the options. A duration counts back from `now`. */
export function addFilterOptions(command: Command, now: number): void {
  const statuses = STATUSES.join(', ')
  const order = 'the time by which tasks are sorted, and to which --since and --until apply'
  const options = [
    new Option('--type <type>', 'tasks of this type; may be repeated').argParser(repeated),
    new Option('--status <status>', `tasks with this status: ${statuses}; may be repeated`).argParser(
      someOf(STATUSES),
    ),
    new Option('--user-id <id>', 'tasks of this user'),
    new Option('--canvas-id <id>', 'tasks of this canvas'),
    new Option('--tag <name=value>', 'tasks with this tag; may be repeated').argParser(tagFilter),
    new Option('--error <text>', 'tasks whose error contains this text, in upper or lower case'),
    new Option(
      '--since <time>',
      'tasks from this time on, such as 2h (before now) or 2026-11-23T10:00Z',
    ).argParser(timeBefore(now)),
    new Option('--until <time>', 'tasks before this time').argParser(timeBefore(now)),
    new Option(
      '--order <order>',
      `${order} (default of list: -ended; -due for open tasks; -created for a user)`,
    ).choices(ORDERS),
  ]
  for (const option of options) command.addOption(option.helpGroup('Which tasks:'))
}

/** `publish --tag` sets a tag by `name=value`. The API separates them by a colon, so that is understood, too. */
export function tagFilter(text: string, earlier?: readonly string[]): string[] {
  if (!/^[^=:]+[=:]/.test(text)) throw new InvalidArgumentError('Give a tag as name=value.')
  const isNamed = /^[^=:]+:/.test(text)
  return repeated(isNamed ? text : text.replace('=', ':'), earlier)
}

/** Makes the filter of a list from the options. Without a type, a user and a canvas it lists the tasks of every type. */
export function filterOf(options: FilterOptions): ListFilter {
  return defined(Object.fromEntries(NAMES.map(name => [name, options[name]])))
}
