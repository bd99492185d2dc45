import { ChevronRight, Download } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { IconButton } from './controls.tsx'
import { useUnsendable } from './dialog.tsx'
import { bytes, cut, visible } from './format.ts'
import { Card } from './page.tsx'
import { CopyButton } from './text.tsx'

/**
 * Inputs, results and other JSON: a tree of text, in which what is long is cut and shown when a reader asks for it; and a field whose text
 * is JSON.
 */

const STRING_CHARACTERS = 300
const MEMBERS = 50
/** Values with at most this many members are open at first, down to this depth. */
const OPEN_MEMBERS_MAX = 20
const OPEN_DEPTH_MAX = 2

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = JSON.stringify(value, undefined, 2) ?? 'undefined'
  const name = `${label.replace(/[^\w.-]+/g, '-')}.json`
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
    Object.assign(document.createElement('a'), { href: url, download: name }).click()
    URL.revokeObjectURL(url)
  }
  return (
    <div className="json">
      <div className="json-tools">
        <span className="faint">{bytes(text.length)}</span>
        <CopyButton text={text} label={label} />
        <IconButton icon={Download} label={`Download ${name}`} title="Download" onClick={download} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a reader without a mouse must be able to scroll it */}
      <section className="json-tree isolated" dir="ltr" aria-label={label} tabIndex={0}>
        <Node value={value} depth={0} />
      </section>
    </div>
  )
}

/** A value in a card of its own. Shows nothing when there is none. */
export function JsonCard({ title, value }: { readonly title: string; readonly value: unknown }) {
  if (value === undefined) return null
  return (
    <Card title={title}>
      <JsonView value={value} label={title} />
    </Card>
  )
}

function Node({ value, depth }: { readonly value: unknown; readonly depth: number }) {
  if (Array.isArray(value)) return <Members entries={[...value.entries()]} depth={depth} brackets="[]" />
  if (typeof value === 'object' && value !== null)
    return <Members entries={Object.entries(value)} depth={depth} brackets="{}" />
  if (typeof value === 'string') return <Text value={value} />
  return <span className={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>
}

function Text({ value }: { readonly value: string }) {
  const [isWhole, setWhole] = useState(false)
  const isCut = value.length > STRING_CHARACTERS && !isWhole
  const shown = visible(JSON.stringify(isCut ? cut(value, STRING_CHARACTERS) : value))
  return (
    <>
      <span className="json-string">{shown}</span>
      {isCut && (
        <button type="button" className="json-more" onClick={() => setWhole(true)}>
          show all {bytes(value.length)}
        </button>
      )}
    </>
  )
}

type MembersProps = {
  readonly entries: ReadonlyArray<readonly [string | number, unknown]>
  readonly depth: number
  readonly brackets: '[]' | '{}'
}

function Members({ entries, depth, brackets }: MembersProps) {
  const [isOpen, setOpen] = useState(
    depth === 0 || (depth <= OPEN_DEPTH_MAX && entries.length <= OPEN_MEMBERS_MAX),
  )
  const [shown, setShown] = useState(MEMBERS)
  const [open, close] = brackets
  if (entries.length === 0) return <span className="faint">{brackets}</span>
  return (
    <>
      <button type="button" className="json-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={12} aria-hidden />
        {open}
        {!isOpen && ` ${entries.length} ${close}`}
      </button>
      {isOpen && (
        <>
          <ul className="json-members">
            {entries.slice(0, shown).map(([name, member]) => (
              <li key={name}>
                <span className={brackets === '{}' ? 'json-name' : 'json-index'}>
                  {cut(visible(String(name)), STRING_CHARACTERS)}:
                </span>{' '}
                <Node value={member} depth={depth + 1} />
              </li>
            ))}
          </ul>
          {entries.length > shown && (
            <button type="button" className="json-more" onClick={() => setShown(shown + MEMBERS * 4)}>
              show more of {entries.length}
            </button>
          )}
          <span className="faint">{close}</span>
        </>
      )}
    </>
  )
}

type JsonFieldProps<Value> = {
  readonly label: string
  /** The value that the text begins with. An empty text stands for no value. */
  readonly first: Value | undefined
  /** Receives the value whenever the text has changed to one that is JSON. */
  readonly onChange: (value: Value | undefined) => void
  readonly rows?: number
  readonly hint: string
}

/** A field for JSON. While its text is none, it says why, and the form around it cannot be sent. */
export function JsonField<Value>({ label, first, onChange, rows = 10, hint }: JsonFieldProps<Value>) {
  const id = useId()
  const [text, setText] = useState(() => (first === undefined ? '' : JSON.stringify(first, undefined, 2)))
  const { problem } = parsed(text)
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => area.current?.setCustomValidity(problem ?? ''), [problem])
  useUnsendable(problem !== undefined)
  const change = (changed: string) => {
    setText(changed)
    const { value, problem } = parsed(changed)
    if (problem === undefined) onChange(value as Value | undefined)
  }
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        ref={area}
        id={id}
        className="mono"
        rows={rows}
        spellCheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-note`}
        onChange={event => change(event.target.value)}
      />
      <p id={`${id}-note`} className={problem ? 'bad' : 'faint'}>
        {problem ?? hint}
      </p>
    </div>
  )
}

/** The value of a text, or why it is not JSON. */
function parsed(text: string): { readonly value?: unknown; readonly problem?: string } {
  try {
    return text.trim() === '' ? {} : { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}` }
  }
}
