import * as Menu from '@radix-ui/react-dropdown-menu'
import type { QueryKey } from '@tanstack/react-query'
import { ChevronDown, RotateCcw } from 'lucide-react'
import { Fragment, type ReactNode, useState } from 'react'
import type { RetryTaskBody } from '../../shared/api/changes.ts'
import type { ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import { baton, isStale } from '../api/baton.ts'
import { Button, useAction } from '../parts/controls.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { visible } from '../parts/format.ts'

/** A sentence, or one that ends in the names of steps, which is left out without steps. */
type Part = string | readonly [text: string, steps: readonly ApiStep[]]

/** A way to try an ended task again, and what it does. */
type Choice = { readonly title: string; readonly how: RetryTaskBody; readonly effect: readonly Part[] }

/** The ways to try an ended task again. The button has the one that repeats least. Each says what it does, and asks. */
export function Retry({ task, changes }: { readonly task: ApiTask; readonly changes: readonly QueryKey[] }) {
  const [chosen, setChosen] = useState<Choice>()
  const retry = useAction({
    run: ({ how }: Choice) => baton.retry(task.id, { ...how, ifRevision: task.revision }).catch(throwPlainly),
    done: 'The task continues',
    changes,
  })
  const [first, ...others] = choicesOf(task)
  const look = { look: 'accent', disabled: retry.isPending } as const
  return (
    <span className="button-pair">
      <Button {...look} icon={RotateCcw} text={first?.title} onClick={() => setChosen(first)} />
      {others.length > 0 && (
        <Menu.Root modal={false}>
          <Menu.Trigger asChild>
            <Button {...look} icon={ChevronDown} aria-label="Other ways to continue" />
          </Menu.Trigger>
          <Menu.Portal>
            <Menu.Content className="menu" align="end" sideOffset={6}>
              {others.map(choice => (
                <Menu.Item key={choice.title} className="menu-item" onSelect={() => setChosen(choice)}>
                  {choice.title}
                </Menu.Item>
              ))}
            </Menu.Content>
          </Menu.Portal>
        </Menu.Root>
      )}
      {chosen && (
        <Confirm
          title={`${chosen.title}?`}
          action={chosen.title}
          onConfirm={() => retry.mutate(chosen)}
          onClose={() => setChosen(undefined)}
        >
          <p className="isolated">{chosen.effect.map(sentenceOf)}</p>
          <p className="soft">The runs until now stay on record.</p>
        </Confirm>
      )}
    </span>
  )
}

function sentenceOf(part: Part): ReactNode {
  const [text, steps] = typeof part === 'string' ? [part, undefined] : part
  if (steps?.length === 0) return null
  return (
    <Fragment key={text}>
      {text}
      {steps?.map(({ name }, index) => (
        <Fragment key={name}>
          {index > 0 && ','} <bdi>{visible(name)}</bdi>
        </Fragment>
      ))}
      {steps && '.'}{' '}
    </Fragment>
  )
}

type Action = NonNullable<RetryTaskBody['action']>

function choice(title: string, action: Action, ...effect: readonly Part[]): Choice {
  return { title, how: { action }, effect }
}

const AGAIN =
  'The handler runs again from the start, with the same input. What it has done already, such as a mail or a charge, is done a second time, unless the handler recognises it.'

function choicesOf(task: ApiTask): Choice[] {
  const { steps, status, concurrency, startedAt, callbackProblems } = task
  const callbacks = choice(
    'Publish the owed callbacks',
    'retry-callbacks',
    'Tries again to publish the callbacks of its end. The task itself does not run again.',
  )
  const again = choice('Run again', 'restart', startedAt ? AGAIN : 'It has not run yet, and is due at once.')
  const whereFailed: Choice = {
    title: 'Run again only where it failed',
    how: { action: 'restart', clean: ['failed'] },
    effect: ['Workers that have not succeeded run it from the start. Successes are kept and not repeated.'],
  }
  return [
    ...(callbackProblems ? [callbacks] : []),
    ...(steps
      ? flowChoices(task, steps)
      : [again, ...(concurrency > 1 && status === 'failed' ? [whereFailed] : [])]),
  ]
}

function flowChoices({ status, cursor = 0 }: ApiTask, steps: readonly ApiStep[]): Choice[] {
  const isFailed = status === 'failed'
  const at = steps.findIndex(({ state }) => state === 'undo-failed')
  const isUndone = steps.slice(0, cursor).some(({ state }) => state === 'undone' || state === 'skipped')
  const [failed, halted] = [cursor, at].map(index => steps.slice(index, index + 1)) as [ApiStep[], ApiStep[]]
  const isDone = ({ state }: ApiStep) => state === 'succeeded'
  const undo: Part = ['Then undoes, where it can be undone:', steps.slice(0, at).filter(isDone).reverse()]
  const go: Part = ['Then does:', steps.slice(cursor + 1)]
  const kept = steps.filter(step => isDone(step) || step.state === 'undo-failed')
  const ofUndo = [
    choice('Undo again', 'retry-undo', ['Undoes again:', halted], undo, 'Done steps are not done again.'),
    choice('Skip the failed undo', 'skip-undo', ['You have undone by hand:', halted], undo),
  ]
  const ofDo = [
    choice('Do the failed step again', 'retry-do', ['Does again:', failed], go, 'No other step is repeated.'),
    choice('Continue: the step was repaired by hand', 'continue', ['You have done by hand:', failed], go),
  ]
  return [
    ...(isFailed && at >= 0 ? ofUndo : []),
    ...(isFailed && !isUndone ? ofDo : []),
    choice(
      'Restart all steps',
      'restart',
      ['Does all steps from the first:', steps],
      ['Done and not undone, so their effects may happen a second time:', kept],
    ),
  ]
}

/** Says plainly what only a reader of an old page is refused. */
function throwPlainly(error: unknown): never {
  if (!isStale(error)) throw error
  throw new Error(
    'Another person has changed the task since this page showed it, so nothing was done. Look again.',
  )
}
