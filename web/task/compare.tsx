import { useId, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { duration, exactTime } from '../parts/format.ts'
import { Plain } from './runs.tsx'
import type { Entry } from './story.ts'

type CompareProps = { readonly story: readonly Entry[]; readonly onClose: () => void }

const SIDES = ['Left', 'Right'] as const

/** Two attempts side by side. What differs is marked. The last two are chosen at first. */
export function CompareDialog({ story, onClose }: CompareProps) {
  const attempts = story.filter(({ detail }) => detail?.runId !== undefined)
  const [chosen, setChosen] = useState(() => attempts.slice(-2).map(({ id }) => id))
  const sides = chosen.map(id => attempts.find(attempt => attempt.id === id)).filter(one => one !== undefined)
  return (
    <Dialog title="Compare attempts" look="wide" onClose={onClose}>
      <div className="dialog-body">
        <div className="field-row">
          {SIDES.map((side, nth) => (
            <AttemptChoice
              key={side}
              side={side}
              chosen={chosen[nth] ?? ''}
              attempts={attempts}
              onChoose={id => setChosen(chosen.map((one, place) => (place === nth ? id : one)))}
            />
          ))}
        </div>
        <table className="compare">
          <tbody>
            {FACTS.map(([name, textOf]) => (
              <Fact key={name} name={name} texts={sides.map(textOf)} />
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}

type ChoiceProps = {
  readonly side: string
  readonly chosen: string
  readonly attempts: readonly Entry[]
  readonly onChoose: (id: string) => void
}

function AttemptChoice({ side, chosen, attempts, onChoose }: ChoiceProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{side}</label>
      <select id={id} value={chosen} onChange={({ target }) => onChoose(target.value)}>
        {attempts.map(attempt => (
          <option key={attempt.id} value={attempt.id}>
            {[attempt.title, attempt.detail?.stage, attempt.outcome].filter(Boolean).join(' · ')}
          </option>
        ))}
      </select>
    </div>
  )
}

/** What is compared, as text. */
const FACTS: ReadonlyArray<readonly [name: string, textOf: (attempt: Entry) => string]> = [
  ['Outcome', ({ outcome = '' }) => outcome],
  ['Stage', ({ detail }) => detail?.stage ?? ''],
  ['Worker', ({ detail }) => detail?.workerId ?? ''],
  ['Began', ({ at }) => exactTime(new Date(at).toISOString())],
  ['Duration', ({ at, until = at }) => duration(until - at)],
  ['Error', ({ detail }) => errorText(detail?.error)],
  ['Progress', ({ detail }) => jsonText(detail?.progress)],
  ['Result', ({ detail }) => jsonText(detail?.result)],
  ['Log', ({ detail }) => detail?.log ?? ''],
]

type EntryError = NonNullable<Entry['detail']>['error']

function errorText(error: EntryError): string {
  if (!error) return ''
  const causes = (error.causes ?? []).map(({ name, message }) => `caused by ${name}: ${message}`)
  return [`${error.name}: ${error.message}`, ...causes, error.stack ?? ''].filter(Boolean).join('\n')
}

function jsonText(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, undefined, 2)
}

function Fact({ name, texts }: { readonly name: string; readonly texts: readonly string[] }) {
  if (texts.every(text => text === '')) return null
  const isSame = new Set(texts).size === 1
  return (
    <tr data-differs={!isSame}>
      <th scope="row">
        {name}
        {!isSame && <span className="tag warn">differs</span>}
      </th>
      {SIDES.map((side, nth) => (
        <td key={side}>
          {texts[nth] ? <Plain text={texts[nth]} label={`${name}, ${side.toLowerCase()}`} /> : '–'}
        </td>
      ))}
    </tr>
  )
}
