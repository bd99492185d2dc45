import { useState } from 'react'
import { Select } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { duration, exactTime } from '../parts/format.ts'
import { type Column, Table } from '../parts/table.tsx'
import { Plain } from './runs.tsx'
import type { Entry } from './story.ts'

const SIDES = ['Left', 'Right'] as const

type CompareProps = { readonly story: readonly Entry[]; readonly onClose: () => void }

/** Two attempts side by side, at first the last two. What differs is marked. */
export function CompareDialog({ story, onClose }: CompareProps) {
  const attempts = story.filter(({ title, outcome }) => outcome && title.startsWith('Attempt'))
  const [chosen, setChosen] = useState(() => attempts.slice(-2).map(({ id }) => id))
  const sides = chosen.flatMap(id => attempts.find(attempt => attempt.id === id) ?? [])
  const rows = FACTS.map(([name, textOf]): Fact => ({ name, texts: sides.map(textOf) }))
  return (
    <Dialog title="Compare attempts" look="wide" onClose={onClose}>
      <div className="dialog-body">
        <div className="field-row">
          {SIDES.map((side, nth) => (
            <Select
              key={side}
              label={side}
              value={chosen[nth]}
              options={attempts.map(optionOf)}
              onChoose={id => setChosen(chosen.with(nth, id))}
            />
          ))}
        </div>
        <Table columns={COLUMNS} rows={rows.filter(({ texts }) => texts.some(Boolean))} keyOf={nameOf} />
      </div>
    </Dialog>
  )
}

function optionOf({ id, title, detail, outcome }: Entry) {
  return [id, [title, detail?.stage, outcome].filter(Boolean).join(' · ')] as const
}

type Fact = { readonly name: string; readonly texts: readonly string[] }

function nameOf({ name }: Fact): string {
  return name
}

const COLUMNS: ReadonlyArray<Column<Fact>> = [
  {
    name: 'Fact',
    cell: ({ name, texts: [left, right] }) => (
      <>
        {name} {left !== right && <span className="tag warn">differs</span>}
      </>
    ),
  },
  ...SIDES.map(
    (side, nth): Column<Fact> => ({
      name: side,
      look: 'wide-cell',
      cell: ({ name, texts }) => (texts[nth] ? <Plain text={texts[nth]} label={`${name}, ${side}`} /> : '–'),
    }),
  ),
]

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

function errorText(error: NonNullable<Entry['detail']>['error']): string {
  if (!error) return ''
  const causes = (error.causes ?? []).map(({ name, message }) => `caused by ${name}: ${message}`)
  return [`${error.name}: ${error.message}`, ...causes, error.stack ?? ''].filter(Boolean).join('\n')
}

function jsonText(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, undefined, 2)
}
