import { Link } from '@tanstack/react-router'
import type { ApiSchedule } from '../../shared/api/schedules.ts'
import { Card } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'
import { byDay, nextTicks } from './next-ticks.ts'

const TICKS_SHOWN = 24

/** The next ticks of all schedules, day by day. */
export function Calendar({ schedules }: { readonly schedules: readonly ApiSchedule[] }) {
  const ticks = nextTicks(schedules, TICKS_SHOWN)
  return (
    <Card title="Next ticks">
      {ticks.length === 0 && <p className="note soft">No tick is to come.</p>}
      {byDay(ticks).map(([day, ofDay]) => (
        <div key={day} className="calendar">
          <p className="calendar-day">{day}</p>
          <ol>
            {ofDay.map(({ name, type, at }) => (
              <li key={`${name} ${at}`}>
                <time dateTime={new Date(at).toISOString()} className="mono">
                  {CLOCK.format(at)}
                </time>
                <span className="cell-name">
                  <Name mono={false}>{name}</Name>
                  <span className="faint">
                    <Link to="/types/$type" params={{ type }}>
                      <Name mono={false}>{type}</Name>
                    </Link>
                  </span>
                </span>
                <span className="faint">
                  <When at={new Date(at).toISOString()} />
                </span>
              </li>
            ))}
          </ol>
        </div>
      ))}
    </Card>
  )
}

const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
})
