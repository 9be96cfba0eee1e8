-- 23
SELECT id FROM item WHERE name ~ '^ab.*(c|d)[0-9_-]{2,3}$' AND name !~ 'x_1' AND name ~* 'k|b+' AND code ~ '^a.$' AND name SIMILAR TO '%(foo|b_r)%' AND name ~ ANY (ARRAY['^a', 'é?b'])
