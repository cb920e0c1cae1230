export const readClock = 'select clock_timestamp() as now';
