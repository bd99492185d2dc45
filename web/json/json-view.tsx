import { ChevronRight, Download } from 'lucide-react'
import { useState } from 'react'
import { bytes, cut, visible } from '../parts/format.ts'
import { CopyButton } from '../parts/text.tsx'

/** Inputs, results and other JSON: a tree of text. What is long is cut, and shown when a reader asks for it. */

const STRING_CHARACTERS = 300
const MEMBERS = 50
/** Values with at most so many members are open at first, down to this depth. */
const OPEN_MEMBERS_MAX = 20
const OPEN_DEPTH_MAX = 2

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = JSON.stringify(value, undefined, 2) ?? 'undefined'
  return (
    <div className="json">
      <div className="json-tools">
        <span className="faint">{bytes(text.length)}</span>
        <CopyButton text={text} label={label} />
        <DownloadButton text={text} name={`${label.replace(/[^\w.-]+/g, '-')}.json`} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a reader without a mouse must be able to scroll it */}
      <section className="json-tree isolated" dir="ltr" aria-label={label} tabIndex={0}>
        <Node value={value} depth={0} />
      </section>
    </div>
  )
}

function DownloadButton({ text, name }: { readonly text: string; readonly name: string }) {
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
    Object.assign(document.createElement('a'), { href: url, download: name }).click()
    URL.revokeObjectURL(url)
  }
  return (
    <button
      type="button"
      className="icon-button"
      onClick={download}
      aria-label={`Download ${name}`}
      title="Download"
    >
      <Download size={14} aria-hidden />
    </button>
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
