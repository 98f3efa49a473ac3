import java.io.IOException;
import java.util.TreeSet;

import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * The job of li2018 (sections 4.1 and 4.2): drops duplicate records of spot prices, and sorts the others by instance type,
 * operating system, zone and time.
 *
 * <p>{@code CleanPrices [-D key=value ...] INPUT OUTPUT} submits it, prints its identifier, and does not wait for its end. As in
 * the paper, tag and price take no part in sorting; there is no combiner.
 */
public final class CleanPrices extends Configured implements Tool {
    /** What the job is called in the cluster. */
    private static final String NAME = "clean spot prices";

    /** Fields of a record, in the order of the input: tag, price, time, instance type, operating system, zone. */
    private static final int FIELDS = 6;

    private static final byte TAB = '\t';

    /** From a record to what it is sorted by (instance type, operating system, zone, time), and the rest (tag, price). */
    public static final class Split extends Mapper<Object, Text, Text, Text> {
        private final Text key = new Text();
        private final Text rest = new Text();

        @Override
        protected void map(Object place, Text line, Context context) throws IOException, InterruptedException {
            byte[] bytes = line.getBytes();
            int length = line.getLength();
            int[] tabs = new int[FIELDS - 1];
            int found = 0;
            for (int i = 0; i < length; i++) {
                if (bytes[i] == TAB) {
                    if (found == tabs.length) {
                        throw new IOException("a record has more than " + FIELDS + " fields: " + line);
                    }
                    tabs[found++] = i;
                }
            }
            if (found < tabs.length) {
                throw new IOException("a record has " + (found + 1) + " fields and not " + FIELDS + ": " + line);
            }
            // The last three fields, which belong together, then the third.
            key.set(bytes, tabs[2] + 1, length - tabs[2] - 1);
            key.append(bytes, tabs[1], tabs[2] - tabs[1]);
            rest.set(bytes, 0, tabs[1]);
            context.write(key, rest);
        }
    }

    /** From all records that are sorted alike to those that differ, each as it was in the input. */
    public static final class Distinct extends Reducer<Text, Text, NullWritable, Text> {
        private final Text line = new Text();

        @Override
        protected void reduce(Text key, Iterable<Text> rests, Context context) throws IOException, InterruptedException {
            TreeSet<Text> different = new TreeSet<>();
            for (Text rest : rests) {
                if (!different.contains(rest)) {
                    different.add(new Text(rest));
                }
            }
            byte[] bytes = key.getBytes();
            int length = key.getLength();
            int last = length - 1;
            while (bytes[last] != TAB) {
                last--;
            }
            for (Text rest : different) {
                line.set(rest.getBytes(), 0, rest.getLength());
                line.append(bytes, last, length - last);
                line.append(new byte[] {TAB}, 0, 1);
                line.append(bytes, 0, last);
                context.write(NullWritable.get(), line);
            }
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: CleanPrices [-D key=value ...] INPUT OUTPUT");
            return 2;
        }
        Job job = Job.getInstance(getConf(), NAME);
        job.setJarByClass(CleanPrices.class);
        job.setMapperClass(Split.class);
        job.setReducerClass(Distinct.class);
        job.setMapOutputKeyClass(Text.class);
        job.setMapOutputValueClass(Text.class);
        job.setOutputKeyClass(NullWritable.class);
        job.setOutputValueClass(Text.class);
        FileInputFormat.addInputPath(job, new Path(arguments[0]));
        FileOutputFormat.setOutputPath(job, new Path(arguments[1]));
        job.submit();
        System.out.println("job " + job.getJobID());
        return 0;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new CleanPrices(), arguments));
    }
}
