import type { ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import { JsonView } from '../json/json-view.tsx'
import { counted, duration } from '../parts/format.ts'
import { StatusBadge, toneOf } from '../parts/status.tsx'
import { Name } from '../parts/text.tsx'
import { ErrorView } from './error-view.tsx'

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
          {step.undo && <Undo undo={step.undo} state={step.state} />}
          {step.error && <ErrorView error={step.error} />}
          {step.result !== undefined && (
            <details>
              <summary>Result</summary>
              <JsonView value={step.result} label={`result of ${step.name}`} />
            </details>
          )}
        </li>
      ))}
    </ol>
  )
}

function StepFacts({ step }: { readonly step: Pick<ApiStep, 'startedAt' | 'endedAt' | 'attempts'> }) {
  const { startedAt, endedAt, attempts } = step
  const took = startedAt && endedAt ? duration(Date.parse(endedAt) - Date.parse(startedAt)) : undefined
  return (
    <p className="faint">
      {counted(attempts, 'run')}
      {took !== undefined && ` · ${took}`}
    </p>
  )
}

function Undo({
  undo,
  state,
}: {
  readonly undo: NonNullable<ApiStep['undo']>
  readonly state: ApiStep['state']
}) {
  return (
    <div className="step-undo" data-tone={toneOf(state)}>
      <span>undo</span>
      <StepFacts step={undo} />
      {undo.error && <ErrorView error={undo.error} />}
    </div>
  )
}
