import { type FormEvent, useState } from 'react'
import type { PatchBody } from '../../shared/api/changes.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { JsonField, jsonOf, jsonProblem } from '../parts/json-field.tsx'

/** Changes an open task. Only what differs is sent. */
export function ChangeDialog({ task, onClose }: { readonly task: ApiTask; readonly onClose: () => void }) {
  const [priority, setPriority] = useState(String(task.priority))
  const [due, setDue] = useState(localTime(task.dueAt))
  const [options, setOptions] = useState('{}')
  // That of the task as the reader saw it: what another person changes meanwhile is not overwritten.
  const [revision] = useState(task.revision)
  const change = useAction({
    run: (patch: PatchBody) => baton.patch(task.id, patch),
    done: 'The task was changed',
    changes: [['task', task.id], ['tasks']],
    after: onClose,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.mutate({
      ifRevision: revision,
      ...(Number(priority) !== task.priority && { priority: Number(priority) }),
      ...(due !== localTime(task.dueAt) && due !== '' && { dueAt: new Date(due).toISOString() }),
      ...(jsonOf(options) as PatchBody | undefined),
    })
  }
  return (
    <Dialog title="Change the task" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="dialog-body">
          <div className="field-row">
            <label className="field">
              Priority
              <input
                type="number"
                step={1}
                value={priority}
                onChange={event => setPriority(event.target.value)}
                required
              />
            </label>
            <label className="field">
              Due
              <input
                type="datetime-local"
                step={1}
                value={due}
                onChange={event => setDue(event.target.value)}
              />
            </label>
          </div>
          <JsonField
            label="Other fields"
            text={options}
            onChange={setOptions}
            rows={6}
            hint='For example {"timeoutMs": 60000, "tags": {"team": "video"}}; null returns an option to its default.'
          />
        </div>
        <footer className="dialog-foot">
          <Button onClick={onClose}>Keep as it is</Button>
          <Button
            look="accent"
            type="submit"
            disabled={change.isPending || jsonProblem(options) !== undefined}
          >
            Change
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

/** The time as the browser's field for times takes it: in the reader's time zone, to the second. */
function localTime(at: string): string {
  const date = new Date(at)
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}
