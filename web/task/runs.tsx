import type { ApiRun, ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import { JsonView } from '../json/json-view.tsx'
import { counted, duration } from '../parts/format.ts'
import { StatusBadge, toneOf } from '../parts/status.tsx'
import { Name, When } from '../parts/text.tsx'
import { ErrorView, Plain } from './error-view.tsx'

/** The runs of a task, newest first, each with its error and its log. */
export function Runs({ task }: { readonly task: ApiTask }) {
  const runs = task.runs.toSorted((a, b) => b.fence - a.fence)
  return (
    <ol className="runs">
      {runs.map(run => (
        <Run key={run.id} run={run} />
      ))}
    </ol>
  )
}

function Run({ run }: { readonly run: ApiRun }) {
  const { state, workerId, startedAt, endedAt, stage, error, log, progress, result } = run
  return (
    <li className="run">
      <div className="run-head">
        <StatusBadge state={state} />
        <span className="cut">
          {stage !== undefined && (
            <>
              <Name mono={false}>{stage}</Name> ·{' '}
            </>
          )}
          <Name>{workerId}</Name>
        </span>
        <span className="soft">
          <When at={startedAt} />
          {endedAt && ` · ${duration(Date.parse(endedAt) - Date.parse(startedAt))}`}
        </span>
      </div>
      {progress !== undefined && <Folded title="Progress" value={progress} />}
      {error && <ErrorView error={error} />}
      {log !== undefined && (
        <details>
          <summary>Log</summary>
          <Plain text={log} label="Log" />
        </details>
      )}
      {result !== undefined && <Folded title="Result" value={result} />}
    </li>
  )
}

function Folded({ title, value }: { readonly title: string; readonly value: unknown }) {
  return (
    <details>
      <summary>{title}</summary>
      <JsonView value={value} label={title} />
    </details>
  )
}

/** What earlier pieces of work of the task were: the last five ends. */
export function History({ task }: { readonly task: ApiTask }) {
  return (
    <ol className="runs">
      {task.history.toReversed().map(({ startedAt, endedAt, costMs, outcome, error, stage, traceId }) => (
        <li key={`${startedAt} ${endedAt}`} className="run">
          <div className="run-head">
            <StatusBadge state={outcome} />
            {stage !== undefined && <Name mono={false}>{stage}</Name>}
            {traceId !== undefined && <Name>{traceId}</Name>}
            <span className="soft">
              <When at={endedAt} /> · {duration(costMs)}
            </span>
          </div>
          {error && <ErrorView error={error} />}
        </li>
      ))}
    </ol>
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
