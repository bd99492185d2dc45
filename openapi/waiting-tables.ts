import { REASON_TEXTS } from '../shared/service/why/reasons.ts'

/** The tables of docs/waiting.md: the reasons that `statusReason` shows, and the reasons of `why`. The rest of the page is written by hand. */

const REASONS = Object.entries(REASON_TEXTS)

/** A table of the page: its header, which begins with the column of the reason, and all lines below. */
const TABLE = /^\| reason \|.*\n(?:\|.*\n)+/gm

/** The page with both of its tables as the present texts of the reasons make them. */
export function withReasonTables(page: string): string {
  const tables = [statusReasonTable(), whyTable()]
  const found = page.match(TABLE)?.length
  if (found !== tables.length) throw new RangeError(`the page has ${found ?? 0} tables of reasons, not 2`)
  return page.replaceAll(TABLE, () => tables.shift() ?? '')
}

function statusReasonTable(): string {
  const rows = REASONS.flatMap(([reason, text]) =>
    'todo' in text ? [[`\`${reason}\``, meansOf(reason, text.means), text.todo]] : [],
  )
  return tableOf(['reason', 'the task …', 'what to do'], rows)
}

/** What a `statusReason` means: its own case, and the cases for which `why` has words of its own. */
function meansOf(reason: string, means: string): string {
  const refined = REASONS.flatMap(([, text]) =>
    'shown' in text && text.shown === reason ? [text.means] : [],
  )
  return [means, ...refined].join('; or ')
}

function whyTable(): string {
  const rows = REASONS.map(([reason, text]) => [
    `\`${reason}\``,
    text.means,
    text.facts.map(fact => `\`${fact}\``).join(', ') || 'none',
    'shown' in text ? shownText(text.shown) : 'the same',
  ])
  return tableOf(['reason', 'the task …', 'fields', '`statusReason`'], rows)
}

function shownText(shown: string): string {
  return shown in REASON_TEXTS ? `\`${shown}\`` : shown
}

function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |\n`)
  return lines.join('')
}
