import type { ApiTask } from '../../shared/api/tasks.ts'
import { cut, visible } from '../parts/format.ts'
import { CopyButton } from '../parts/text.tsx'

type TaskError = NonNullable<ApiTask['error']>

const MESSAGE_CHARACTERS = 600

/** An error: its message, what caused it, and its stack on demand. */
export function ErrorView({ error }: { readonly error: TaskError }) {
  const { name, message, causes = [], stack } = error
  return (
    <div className="error">
      <p className="error-message isolated">
        <strong>{cut(visible(name), 100)}</strong> {cut(visible(message), MESSAGE_CHARACTERS)}
      </p>
      {causes.map(cause => (
        <p key={`${cause.name} ${cause.message}`} className="soft isolated">
          caused by {cut(visible(cause.name), 100)}: {cut(visible(cause.message), MESSAGE_CHARACTERS)}
        </p>
      ))}
      {stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <CopyButton text={stack} label="stack" />
          <Plain text={stack} label="Stack" />
        </details>
      )}
    </div>
  )
}

/** Text of several lines, such as a stack or a log. Line breaks stay; other unseen characters are written out. */
export function Plain({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a reader without a mouse must be able to scroll it
    <section className="text-block mono isolated" dir="ltr" tabIndex={0} aria-label={label}>
      {text.split('\n').map(visible).join('\n')}
    </section>
  )
}
