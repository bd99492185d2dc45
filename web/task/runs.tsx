import type { ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import { counted, cut, duration, toneOf, visible } from '../parts/format.ts'
import { JsonView } from '../parts/json.tsx'
import { CopyButton, Name, StatusBadge } from '../parts/text.tsx'

type FoldedProps = { readonly title: string; readonly value: unknown; readonly label?: string }

export function Folded({ title, value, label = title }: FoldedProps) {
  return (
    <details>
      <summary>{title}</summary>
      <JsonView value={value} label={label} />
    </details>
  )
}

/** The steps of a flow as a graph: each step with its state, and below it its undo. */
export function Steps({ task }: { readonly task: ApiTask }) {
  return (
    <ol className="steps">
      {task.steps?.map((step, index) => (
        <li
          key={step.name}
          className="step"
          data-tone={toneOf(step.state)}
          aria-current={index === task.cursor ? 'step' : undefined}
        >
          <div className="step-head">
            <span className="step-number">{index + 1}</span>
            <Name mono={false}>{step.name}</Name>
            <StatusBadge state={step.state} />
          </div>
          <StepFacts step={step} />
          {step.undo && (
            <div className="step-undo" data-tone={toneOf(step.state)}>
              <span>undo</span>
              <StepFacts step={step.undo} />
              {step.undo.error && <ErrorView error={step.undo.error} />}
            </div>
          )}
          {step.error && <ErrorView error={step.error} />}
          {step.result !== undefined && (
            <Folded title="Result" value={step.result} label={`result of ${step.name}`} />
          )}
        </li>
      ))}
    </ol>
  )
}

type StepFactsProps = { readonly step: Pick<ApiStep, 'startedAt' | 'endedAt' | 'attempts'> }

function StepFacts({ step: { startedAt, endedAt, attempts } }: StepFactsProps) {
  const took = startedAt && endedAt && ` · ${duration(Date.parse(endedAt) - Date.parse(startedAt))}`
  return <p className="faint">{[counted(attempts, 'attempt'), took]}</p>
}

type TaskError = NonNullable<ApiTask['error']>

const MESSAGE_CHARACTERS = 600

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
