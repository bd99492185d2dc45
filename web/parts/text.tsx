import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { COUNTED_MAX } from '../api/paces.ts'
import { cut, moment, number, relative, visible } from './format.ts'

/** Texts that tasks bring with them. They are shown as text only, isolated from the text around them. */

const NAME_CHARACTERS_MAX = 240

/** An id, a key or another name on one line. */
export function Name({ children, mono = true }: { readonly children: string; readonly mono?: boolean }) {
  const text = cut(visible(children), NAME_CHARACTERS_MAX)
  return (
    <bdi className={mono ? 'mono cut' : 'cut'} dir="auto" title={text}>
      {text}
    </bdi>
  )
}

/** A time, as its distance from now. The whole time shows on hover. */
export function When({ at }: { readonly at: string | undefined }) {
  const now = useNow()
  if (at === undefined) return <span className="faint">–</span>
  return (
    <time dateTime={at} title={moment(at)}>
      {relative(at, now)}
    </time>
  )
}

const COPIED_MS = 1_500

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(setCopied, COPIED_MS, false)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true))
  return (
    <button type="button" className="icon-button" onClick={copy} aria-label={`Copy ${label}`} title="Copy">
      {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      <span className="visually-hidden" aria-live="polite">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** The time, renewed at this pace while the tab is visible. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setNow(Date.now())
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/** A count that stops at `COUNTED_MAX`: `1,000+` means so many or more. */
export function countText(count: number): string {
  return count >= COUNTED_MAX ? `${number(COUNTED_MAX)}+` : number(count)
}

/** The sum of counts of which some may have stopped at `COUNTED_MAX`. */
export function sumText(counts: readonly number[]): string {
  const sum = counts.reduce((total, count) => total + count, 0)
  return counts.some(count => count >= COUNTED_MAX) ? `${number(sum)}+` : number(sum)
}
