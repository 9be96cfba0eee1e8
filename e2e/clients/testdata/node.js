// Prints what node-postgres sees; run directly and through the gateway.
const { Client } = require('pg');

async function main() {
  const client = new Client({ connectionString: process.argv[2] });
  await client.connect();
  const notices = [];
  client.on('notice', (n) => notices.push(n.message));
  const show = (title, r) => console.log(title, JSON.stringify({ fields: r.fields.map((f) => [f.name, f.dataTypeID]), rows: r.rows, command: r.command, count: r.rowCount }));
  show('simple', await client.query('SELECT count(*), sum(price) FROM item'));
  show('parameters', await client.query('SELECT id, name, price, flag FROM item WHERE price > $1 ORDER BY id', [95]));
  for (let i = 0; i < 3; i++) {
    show('named', await client.query({ name: 'n', text: 'SELECT flag, count(*) FROM item WHERE id > $1 GROUP BY flag ORDER BY flag', values: [i] }));
  }
  show('binary', await client.query({ text: 'SELECT id, name FROM item WHERE id <= $1 ORDER BY id', values: [3], binary: true }));
  for (const sql of ['SELECT nosuch FROM item', 'SELECT 1/0', 'nonsense']) {
    await client.query(sql).catch((e) => console.log('error', e.code, e.position, e.message));
    await client.query({ text: sql, values: [] }).catch((e) => console.log('error', e.code, e.position, e.message));
  }
  await client.query('BEGIN READ ONLY');
  show('block', await client.query('SELECT count(*) FROM item'));
  await client.query('COMMIT');
  const many = await Promise.all([1, 2, 3, 4, 5].map((i) => client.query('SELECT count(*) AS n FROM item WHERE id > $1', [i])));
  console.log('queued', many.map((r) => r.rows[0].n).join());
  const results = await client.query('SELECT 1 AS a; SELECT count(*) FROM item');
  results.forEach((r) => show('several', r));
  const heard = new Promise((resolve) => client.on('notification', (n) => resolve(n.payload)));
  await client.query('LISTEN news');
  await client.query("NOTIFY news, 'hello'");
  console.log('notified', await heard);
  await client.query("DO $$ BEGIN RAISE NOTICE 'a notice'; END $$");
  console.log(notices);
  await client.end();
}
main().catch((e) => { console.error(e); process.exit(1); });
